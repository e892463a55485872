#include "cache/compression.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

namespace cubinet::cache {
namespace {

// Higher levels shrink cubins hardly more and take several times as long.
constexpr int level = 9;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

auto broken(std::string_view what) { return fail(ErrorCode::invalid_argument, std::string(what)); }

}  // namespace

Expected<std::string> compress(std::string_view bytes) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) return fail(ErrorCode::io, "out of memory while compressing");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 0);  // a bundle has a digest of each frame
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) return fail(ErrorCode::io, fmt::format("cannot compress: {}", ZSTD_getErrorName(size)));
  frame.resize(size);
  return frame;
}

Expected<std::string> decompress(std::string_view frame, std::size_t bytes) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != bytes) return broken("the frame states another size");
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return broken("not one whole frame");
  std::string content(bytes, '\0');
  const std::size_t size = ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0) return broken(fmt::format("cannot be decompressed: {}", ZSTD_getErrorName(size)));
  if (size != bytes) return broken("the frame is shorter than it states");
  return content;
}

std::string zstd_version() { return ZSTD_versionString(); }

}  // namespace cubinet::cache
