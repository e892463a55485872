// wgmma.mma_async: one warpgroup multiplies 64 rows of A by up to 256 rows of B, both in shared memory, into FP32
// registers. Here are its matrix descriptor and the operand lists of its asm statements.
#pragma once

#include "ptx/types.cuh"

namespace cubinet::ptx {

// Matrix descriptor (PTX ISA, "Matrix-Descriptor Format") of a K-major tile with 128-byte swizzle whose rows are 128
// bytes: address / 16, leading offset unused by this swizzle (1), 1024 bytes between groups of 8 rows, swizzle mode 1.
CUBINET_DEVICE u64 wgmma_descriptor(u32 address) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | (u64{1} << 16) | (u64{64} << 32) | (u64{1} << 62);
}

// "%0, %1, ...": the first n operands of an asm statement.
#define CUBINET_REGISTERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define CUBINET_REGISTERS_16 CUBINET_REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define CUBINET_REGISTERS_24 CUBINET_REGISTERS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define CUBINET_REGISTERS_32 CUBINET_REGISTERS_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define CUBINET_REGISTERS_40 CUBINET_REGISTERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define CUBINET_REGISTERS_48 CUBINET_REGISTERS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define CUBINET_REGISTERS_56 CUBINET_REGISTERS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define CUBINET_REGISTERS_64 CUBINET_REGISTERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define CUBINET_REGISTERS_72 CUBINET_REGISTERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define CUBINET_REGISTERS_80 CUBINET_REGISTERS_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define CUBINET_REGISTERS_88 CUBINET_REGISTERS_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define CUBINET_REGISTERS_96 CUBINET_REGISTERS_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define CUBINET_REGISTERS_104 CUBINET_REGISTERS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define CUBINET_REGISTERS_112 CUBINET_REGISTERS_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define CUBINET_REGISTERS_120 CUBINET_REGISTERS_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define CUBINET_REGISTERS_128 CUBINET_REGISTERS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"

// The first n elements of d as read-write operands.
#define CUBINET_OUTPUTS_8(d) \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define CUBINET_OUTPUTS_16(d)                                                                                    \
  CUBINET_OUTPUTS_8(d), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), \
      "+f"(d[15])
#define CUBINET_OUTPUTS_24(d)                                                                                       \
  CUBINET_OUTPUTS_16(d), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), \
      "+f"(d[23])
#define CUBINET_OUTPUTS_32(d)                                                                                       \
  CUBINET_OUTPUTS_24(d), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), \
      "+f"(d[31])
#define CUBINET_OUTPUTS_40(d)                                                                                       \
  CUBINET_OUTPUTS_32(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), \
      "+f"(d[39])
#define CUBINET_OUTPUTS_48(d)                                                                                       \
  CUBINET_OUTPUTS_40(d), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), \
      "+f"(d[47])
#define CUBINET_OUTPUTS_56(d)                                                                                       \
  CUBINET_OUTPUTS_48(d), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), \
      "+f"(d[55])
#define CUBINET_OUTPUTS_64(d)                                                                                       \
  CUBINET_OUTPUTS_56(d), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), \
      "+f"(d[63])
#define CUBINET_OUTPUTS_72(d)                                                                                       \
  CUBINET_OUTPUTS_64(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
      "+f"(d[71])
#define CUBINET_OUTPUTS_80(d)                                                                                       \
  CUBINET_OUTPUTS_72(d), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), \
      "+f"(d[79])
#define CUBINET_OUTPUTS_88(d)                                                                                       \
  CUBINET_OUTPUTS_80(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), \
      "+f"(d[87])
#define CUBINET_OUTPUTS_96(d)                                                                                       \
  CUBINET_OUTPUTS_88(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), \
      "+f"(d[95])
#define CUBINET_OUTPUTS_104(d)                                                                                         \
  CUBINET_OUTPUTS_96(d), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), \
      "+f"(d[103])
#define CUBINET_OUTPUTS_112(d)                                                                                \
  CUBINET_OUTPUTS_104(d), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
      "+f"(d[110]), "+f"(d[111])
#define CUBINET_OUTPUTS_120(d)                                                                                \
  CUBINET_OUTPUTS_112(d), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), \
      "+f"(d[118]), "+f"(d[119])
#define CUBINET_OUTPUTS_128(d)                                                                                \
  CUBINET_OUTPUTS_120(d), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), \
      "+f"(d[126]), "+f"(d[127])

}  // namespace cubinet::ptx
