// What --help of each `cubinet cache` command shows below its flags: an example, and what --json prints.
#pragma once

namespace cubinet::tools {

inline constexpr const char* entry_fields_help =
    "  key           64 hexadecimal digits\n"
    "  family, arch, n, k, config\n"
    "                what was compiled; config names the tile configuration, empty for\n"
    "                entries of builds that did not store it. fp8_quantization has none, and\n"
    "                n and k are 0\n"
    "  compiler      what compiled it, exactly; empty for entries of builds that did not store it\n"
    "  bytes         size of the object's file\n"
    "  created       seconds since 1970\n"
    "  last_used     seconds since 1970, 0 = never; null: the index could not be read\n"
    "  hits          how often it was loaded; null: the index could not be read\n"
    "  pinned        true: never evicted; null: the pins could not be read\n"
    "  in_use        true: a running engine has it loaded; it is not evicted; null: as for pinned\n"
    "  registers     per thread\n"
    "  spill_bytes, smem_bytes\n"
    "                bytes per thread and per block\n"
    "  compile_ms    milliseconds\n";

inline constexpr const char* list_help =
    "Entries must pass every filter that is given. DURATION is a whole number and s, min, h, d or\n"
    "w (12h, 7d), SIZE a number and a unit (100KiB). --sort goes upwards: key; family, N, K, config;\n"
    "n; k; used, longest unused first; size; age, youngest first; hits; compile, quickest first. What\n"
    "is equal there stays sorted by family, N, K, config, with --reverse, too.\n"
    "Nothing in objects/ is changed; files that look damaged are not listed, and counted on\n"
    "standard error. Without an index there is no choice and no order by use.\n\n"
    "Example:\n  cubinet cache ls --cache /opt/kernels\n"
    "  cubinet cache ls --family bf16_grouped_masked --unused-for 30d --sort size --reverse --limit 10\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  total         entries of the cabinet\n"
    "  matched       those that pass the filters; --limit may show fewer\n"
    "  entries       a list, fields see below\n"
    "  damaged       keys, or names in objects/, of files that look damaged\n"
    "  unreadable    objects and folders that cannot be read: a list of {name, reason}\n"
    "  index_problem why the index could not be read, else empty\n"
    "  kept_problem  why pins and uses could not be read, else empty\n"
    "Each entry:\n";

inline constexpr const char* show_help =
    "Reads the object and compares every byte with its digest; exit code 1 when it is damaged.\n"
    "--sass runs nvdisasm, else cuobjdump, of CUDA_HOME, /usr/local/cuda or PATH. --ptx compiles the\n"
    "kernel again, since the cabinet holds no PTX; that takes the templates that the entry was\n"
    "made of, and NVRTC. Exit code 1 where one of these is missing or another.\n\n"
    "Example:\n  cubinet cache show 3f9a01c2 --cache /opt/kernels\n"
    "  cubinet cache show 3f9a01c2 --sass > kernel.sass\n\n"
    "With --json:\n";

inline constexpr const char* show_more_fields_help =
    "  kernel_names  entry points in the object\n"
    "  record        what the key is the SHA-256 of: all that the compilation depends on\n";

inline constexpr const char* explain_help =
    "With a key: what the entry is, and whether this build would ask for it again.\n"
    "With two keys: the fields in which their records differ. With a problem, as `cubinet plan` takes\n"
    "it: for each kernel whether a look-up would hit now, in the cabinet or in a layer of\n"
    "CUBINET_CACHE_PATH, and why it would not. What an engine would do without is left out and said:\n"
    "a place that is not there, a bundle that CUBINET_BUNDLE_KEY has not signed. Nothing is compiled,\n"
    "moved or set aside.\n\n"
    "Examples:\n  cubinet cache explain 3f9a01c2\n  cubinet cache explain 3f9a01c2 77d0be11\n"
    "  cubinet cache explain --shape 4096,7168,8 --m 300\n\n"
    "With --json, for a key:\n"
    "  entries       the one or two entries {key, compiler, family, n, k, config}\n"
    "  wanted        the key that this build asks for in its place; null: none, the family or its\n"
    "                constants are not this build's\n"
    "  current       true: it is the same key\n"
    "  wanted_state  of the wanted key, as state below\n"
    "  differences   {field, first, second} of the records, as JSON texts; empty: no such field.\n"
    "                second is the other entry's, or what this build would write\n"
    "For a problem:\n"
    "  nvrtc         the version that this build prefers; a look-up takes any\n"
    "  searched      of the cabinet and the layers, in order, those that could be opened\n"
    "  hits, misses  how many kernels\n"
    "  kernels       {key, family, n, k, config, state, where, compiler (empty: none), accepted (this\n"
    "                build was tested with it), why, nearest, differences}; state is hit, unusable (made\n"
    "                by a compiler that is too new for the driver here), damaged, unreadable, set aside\n"
    "                (damaged before), evicted (to keep within limits), stale (the same kernel of other\n"
    "                templates or an earlier build) or absent; where has it; nearest is the key of\n"
    "                the entry that is most like it\n";

inline constexpr const char* stats_help =
    "--prometheus prints the same figures for Prometheus, in its text format 0.0.4: gauges and\n"
    "counters cubinet_cache_..., each with the cabinet's folder as label cache; what is not known is\n"
    "left out. A node exporter's textfile collector takes it as it is. A line `complete for` names the\n"
    "problems of a warmup by type, layout, N x K and groups, of many the first four.\n\n"
    "Example:\n  cubinet cache stats --cache /opt/kernels\n"
    "  cubinet cache stats --prometheus > /var/lib/node_exporter/cubinet.prom\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  persist       \"on\" or \"readonly\"\n"
    "  entries       how many\n"
    "  bytes         of their files together\n"
    "  hits          of all entries; null: the index could not be read\n"
    "  quarantined   damaged files that were set aside\n"
    "  quarantine_files, quarantine_bytes\n"
    "                what quarantine/ holds, damaged indexes too: at most 1,000 files and 256 MiB, the\n"
    "                latest; the limits of the cabinet do not count it\n"
    "  compile_ms    milliseconds that the entries took to compile, together\n"
    "  compilers     what compiled the entries: a list of {compiler (empty: not recorded), entries}\n"
    "  damaged       files in objects/ that look damaged; they are no entries\n"
    "  unreadable    objects and folders that cannot be read: a list of {name, reason}\n"
    "  index_problem why the index could not be read, else empty\n"
    "  counters      since the index was made; null: it could not be read. {hits, misses,\n"
    "                compiles, damage (files that look-ups set aside), evictions,\n"
    "                evicted_misses (misses of what an eviction had removed)}\n"
    "  coverage      what a warmup has made the cabinet complete for, and nothing is missing of:\n"
    "                a list of {problems, m_range, arch, num_sms, nvrtc (builds that made its\n"
    "                entries, \"13.0.88\"), current (made from the templates of this build), executed (null, or "
    "{device, driver}), kernels (how\n"
    "                many), recorded (seconds since 1970)}; problems is a list of {dtype, layout, n, k,\n"
    "                groups, m_range}, whose n, k and groups are 0 where it is the generic kernels alone;\n"
    "                the record's m_range goes from the smallest to the largest M of them\n";

inline constexpr const char* problems_help =
    "Each problem that an engine started with, prepared, or missed in a launch on this cabinet as its\n"
    "first one is recorded, with all M that were asked for. `cubinet warmup --recorded` compiles what\n"
    "they need again, after an upgrade for one. The JSON is a file for `--from` of another machine's\n"
    "warmup. ASKED is the latest start, preparation or miss, to the day: an engine that has run since\n"
    "then is not seen. After a model was retired: --forget --unasked-for 30d.\n"
    "A record that is damaged, or of a build that knows more, is named on standard error.\n\n"
    "Example:\n  cubinet cache problems --cache /opt/kernels\n"
    "  cubinet cache problems --json > problems.json\n"
    "  cubinet warmup --recorded --from problems.json --cache /opt/kernels\n\n"
    "With --json:\n"
    "  version       1, of this list\n"
    "  cache         the cabinet's folder\n"
    "  problems      what is listed (with --forget, what was removed): {dtype, layout, n, k, groups,\n"
    "                m_range, arch, asked (seconds since 1970)}\n"
    "  skipped       records that are not taken: a list of {name, reason}\n";

inline constexpr const char* report_help =
    "One static HTML page without scripts: what the cabinet holds by family, shape and\n"
    "configuration, resources, age and use, what it is complete for, and damage. Lists show 50 rows,\n"
    "groups 20, the largest. The same state gives the same page. FILE lies outside the cabinet.\n\n"
    "Example:\n  cubinet cache report cabinet.html --cache /opt/kernels\n\n"
    "With --json:\n"
    "  file          what was written\n"
    "  bytes         its size\n"
    "  entries       how many the cabinet holds\n";

inline constexpr const char* verify_help =
    "Exit code 1 when something is damaged, the index too, or unreadable, or index and objects\n"
    "disagree; with --repair when something could not be mended. Two things do not change it: leftovers of\n"
    "killed writers, which are harmless, and, without --repair, an index that another process\n"
    "holds; it is then not compared.\n\n"
    "Example:\n  cubinet cache verify --repair --cache /opt/kernels\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  checked       objects that were read\n"
    "  damaged       keys, or names in objects/ or problems/, of damaged files\n"
    "  unreadable    objects and folders that cannot be read, perhaps sound: a list of {name,\n"
    "                reason}; --repair leaves them alone\n"
    "  orphans, orphan_keys\n"
    "                objects without a row that describes them: how many, and their keys\n"
    "  missing, missing_keys\n"
    "                rows without an object, likewise\n"
    "  leftovers     files that killed writers left in tmp/\n"
    "  index_problem why the index could not be read as it is, else empty\n"
    "  index_busy    true: another process held it, and it was not compared\n"
    "  index_unused  true: it is left alone, index_problem says why, and it was not compared: a newer\n"
    "                build has written it, or its file system keeps no locks; no damage\n"
    "  repaired      true: --repair was given and all of the above is mended\n"
    "  unmended      damaged files that --repair could not set aside\n"
    "  index_unmended why --repair could not put the rows right, else empty\n";

inline constexpr const char* gc_help =
    "Evicts what was not used for --max-age, then what was used least recently until the rest is\n"
    "within --max-size and --max-entries. Without any of the three the limits are those that every\n"
    "writer keeps to: CUBINET_CACHE_MAX_SIZE (4GiB) and CUBINET_CACHE_MAX_ENTRIES (100000). 0 and\n"
    "none are no limit. An entry that was never used counts from its creation. What is pinned, or\n"
    "loaded by a running engine, stays, and others go in the place of what cannot be removed; exit\n"
    "code 1 when the rest is over a limit by that. A dry run changes nothing on disk, the index\n"
    "neither, and is an error where that cannot be read as it is. Also removes files that killed\n"
    "writers left a day ago, and damaged ones set aside 30 days ago.\n\n"
    "Example:\n  cubinet cache gc --max-size 500MiB --max-age 30d --dry-run --cache /opt/kernels\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  dry_run       true: nothing was removed, and all of this is what would be\n"
    "  evicted       a list in the order of removal: fields as in `cache ls`, and reason:\n"
    "                \"age\", \"entries\" or \"bytes\", the limit that it went for\n"
    "  bytes         of the evicted files together\n"
    "  entries_left, bytes_left\n"
    "                what stays\n"
    "  over          true: that is over a limit, and pinned, in use or not to be removed\n"
    "  leftovers     files removed from tmp/\n"
    "  quarantined   files removed from quarantine/\n"
    "  problem       why something that was to go is there still, else empty\n"
    "  index_problem why rows could not be removed, else empty; the next listing drops them\n";

inline constexpr const char* pin_help =
    "A pin lasts until it is taken back, or its entry is removed by `cache rm`. Waits, 5 s at most,\n"
    "for a collection that is under way; exit code 1 when that has evicted the entry.\n\n"
    "Example:\n  cubinet cache pin 3f9a01c2 77b0 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  pinned        a list of the keys\n"
    "  failures      of those that could not be pinned: a list of {key, code, message}; exit code 1\n";

inline constexpr const char* unpin_help =
    "Example:\n  cubinet cache unpin 3f9a01c2 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  unpinned      a list of the keys\n"
    "  failures      of those that are pinned no less, or were not: a list of {key, code, message};\n"
    "                exit code 1\n";

inline constexpr const char* remove_help =
    "Example:\n  cubinet cache rm 3f9a01c2 --cache /opt/kernels\n\n"
    "With --json:\n"
    "  removed       a list with the key\n"
    "  bytes         size of the file that is gone\n"
    "  index_problem why the row could not be removed, else empty; the next listing drops it\n";

inline constexpr const char* export_help =
    "Without KEY, --arch and --plan: every entry. What a bundle holds decides every byte of it, so\n"
    "the same entries give the same file (with one version of zstd). An engine reads it where it\n"
    "lies, as a layer: CUBINET_CACHE_PATH=/opt/model.cubinet. Exit code 1, and no file, when\n"
    "an entry is damaged or one of the plan is missing; the missing ones are listed. FILE lies outside\n"
    "the cabinet.\n\n"
    "Example:\n  cubinet cache export model.cubinet --plan --model config.json --ep 8\n"
    "  cubinet cache export model.cubinet --arch sm_90a --sign private.pem\n"
    "  cubinet cache export two.cubinet 3f9a01c2 77b0c1d2 --cache /opt/kernels\n"
    "  openssl genpkey -algorithm ed25519 -out private.pem       a key to sign with\n\n"
    "With --json:\n"
    "  file          the bundle\n"
    "  entries       how many it holds\n"
    "  bytes         of the file\n"
    "  object_bytes  of the objects in it, unpacked\n"
    "  arch          a list of the architectures that they are for\n"
    "  signed        true: with --sign\n";

inline constexpr const char* import_help =
    "Reads and checks the whole bundle first: every digest, key and record, and the signature where\n"
    "a key is named. If anything is wrong the exit code is 1 and the cabinet is as it was. Entries\n"
    "that are there are kept as they are. The cabinet is made when there is none, and keeps to its\n"
    "limits: CUBINET_CACHE_MAX_SIZE and CUBINET_CACHE_MAX_ENTRIES. An import counts as a use. Exit\n"
    "code 1, too, when the limits left no room for all of the bundle.\n\n"
    "Example:\n  cubinet cache import model.cubinet --cache /var/cache/cubinet\n"
    "  cubinet cache import model.cubinet --verify-key public.pem --require-signature\n"
    "  openssl pkey -in private.pem -pubout -out public.pem       the key that verifies\n\n"
    "With --json:\n"
    "  cache         the cabinet's folder\n"
    "  file          the bundle\n"
    "  entries       how many it holds\n"
    "  imported      of them, those that are new in the cabinet\n"
    "  there         of them, those that were there before\n"
    "  evicted       of them, those that the limits left no room for\n"
    "  bytes         of the files of those that are new\n"
    "  arch          a list of the architectures that the entries are for\n"
    "  signature     \"verified\", \"unverified\" (signed, and no key is named) or \"none\"\n";

}  // namespace cubinet::tools
