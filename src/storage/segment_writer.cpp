// Only Finish can be trusted to tell that the disk is full: on RocksDB 7.8 Put keeps answering OK.
#include "storage/segment_writer.h"

#include <cstring>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_writer.h>

#include "format/chunk_codec.h"
#include "format/fail.h"
#include "format/keys.h"
#include "storage/families.h"
#include "storage/ingestion_guard.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 30;

}  // namespace

SegmentWriter::SegmentWriter(const Database& database, std::function<std::uint64_t()> take_segment)
    : database_(database), take_segment_(std::move(take_segment)) {}

SegmentWriter::~SegmentWriter() = default;

void SegmentWriter::begin_segment() {
  const Handles& handles = database_.handles();
  rocksdb::ColumnFamilyHandle* family = handles.family(Family::kChunk);
  const rocksdb::Options options = handles.db().GetOptions(family);
  // Without invalidate_page_cache=false every megabyte would be dropped from the page cache, and a restore right after
  // a save would go to the disk.
  writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(options), options, family,
                                                     /*invalidate_page_cache=*/false);
  segment_ = take_segment_();
  index_ = 0;
  segment_bytes_ = 0;
  files_.push_back((database_.staging_path() / fmt::format("{:016x}.sst", segment_)).string());
  check(writer_->Open(files_.back()), fmt::format("cannot begin segment {}", segment_));
}

std::uint64_t SegmentWriter::add(std::span<const std::byte> payload) {
  if (writer_ && (segment_bytes_ + payload.size() > kMaxSegmentBytes || index_ == format::kMaxChunksPerSegment)) {
    finish_segment();
  }
  if (!writer_) begin_segment();
  row_.resize(payload.size() + format::kChunkTrailerBytes);
  std::memcpy(row_.data(), payload.data(), payload.size());
  row_.back() = static_cast<char>(format::Codec::kRaw);
  const std::uint64_t id = format::chunk_id(segment_, index_);
  check(writer_->Put(format::number_key(id), rocksdb::Slice(row_.data(), row_.size())),
        fmt::format("cannot write segment {}", segment_));
  ++index_;
  segment_bytes_ += row_.size();
  return id;
}

void SegmentWriter::finish_segment() {
  check(writer_->Finish(), fmt::format("cannot complete segment {}", segment_));
  writer_.reset();
}

std::vector<std::string> SegmentWriter::finish() {
  if (writer_) finish_segment();
  return std::move(files_);
}

void ingest_segments(const Database& database, const std::vector<std::string>& files) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.failed_move_fall_back_to_copy = false;  // staging/ is on the same file system: a copy would be a surprise
  options.snapshot_consistency = false;           // else a sequence number makes RocksDB rewrite the file later
  options.allow_global_seqno = false;
  options.allow_blocking_flush = false;
  options.write_global_seqno = false;
  options.fail_if_not_bottommost_level = true;
  const Handles& handles = database.handles();
  check(handles.db().IngestExternalFile(handles.family(Family::kChunk), files, options), "cannot take in new segments");
  database.ingestion_guard().release();
}

}  // namespace cairn::storage
