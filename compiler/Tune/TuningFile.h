//===- TuningFile.h - Where measured schedules are kept ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is kept decides which code this user's programs run, so files are trusted
// as the cache's are (TrustedFolder.h).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_TUNINGFILE_H
#define TILEWRIGHT_COMPILER_TUNE_TUNINGFILE_H

#include <tilewright/result.h>

#include <string>

namespace tilewright {

/// The file of this user's measured schedules: `stated` if it is not empty; else
/// $TILEWRIGHT_TUNING_FILE, an absolute path, and none if that is set and empty; else
/// tilewright/tuning.jsonl in $XDG_DATA_HOME, or in ~/.local/share where that is no absolute path.
/// Refused: a variable that is no absolute path, no home.
Result<std::string> findTuningFile(const std::string &stated);

/// The text of the file, of one larger than maxTuningText the lines at its end; nothing if there is
/// no such file. Refused: a folder that openTrustedFolder() refuses, a file that is no plain one or
/// that others can write to.
Result<std::string> readTuningFile(const std::string &path);

/// Writes a line to the end of the file, which is created for this user alone if it is missing, as
/// its folder is. The file is locked meanwhile, so that lines written at the same time do not mix;
/// a line that a killed writer left without its end stays a line of its own.
Status appendToTuningFile(const std::string &path, const std::string &line);

/// Bytes that are read of a file, some thousand lines.
inline constexpr size_t maxTuningText = size_t{1} << 20;

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_TUNINGFILE_H
