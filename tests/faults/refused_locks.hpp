// Makes the kernel refuse every lock, as on a file system without locks.
#pragma once

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>

namespace cubinet::test {

// From now on flock() and fcntl() with F_SETLK or F_SETLKW fail with ENOLCK in this process. False: the system does not
// support this.
inline bool refuse_locks() {
  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto skip_unless = [](std::uint32_t value, std::uint8_t otherwise) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, otherwise);
  };
  const auto answer = [](std::uint32_t value) { return sock_filter BPF_STMT(BPF_RET | BPF_K, value); };
  const std::uint32_t refusal = SECCOMP_RET_ERRNO | ENOLCK;
  sock_filter rules[] = {load(offsetof(seccomp_data, nr)),
                         skip_unless(SYS_flock, 1),
                         answer(refusal),
                         skip_unless(SYS_fcntl, 5),
                         load(offsetof(seccomp_data, args[1])),
                         skip_unless(F_SETLK, 1),
                         answer(refusal),
                         skip_unless(F_SETLKW, 1),
                         answer(refusal),
                         answer(SECCOMP_RET_ALLOW)};
  const sock_fprog program{sizeof(rules) / sizeof(rules[0]), rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace cubinet::test
