//! What a sealed segment holds, read from its file: how many entries, and when the last one was written.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::entry::entry_time;
use super::record::{BLOCK, FIRST_RECORD, Found, SegmentReader, block_start};
use crate::event::Timestamp;

/// Number of whole entries.
pub fn count_entries(path: &Path) -> io::Result<u64> {
    let mut reader = SegmentReader::new(File::open(path)?, FIRST_RECORD)?;
    let mut count = 0;
    loop {
        match reader.next()? {
            Found::Entry(_) => count += 1,
            Found::Damage(_) => {}
            Found::Torn(_) | Found::End => return Ok(count),
        }
    }
}

/// Entry time of the last entry that can be read. Looks at the end of the file first, so that only an entry of many
/// blocks needs more than one of them.
pub fn last_entry_time(file: &File) -> io::Result<Option<Timestamp>> {
    let len = file.metadata()?.len();
    if len <= FIRST_RECORD {
        return Ok(None);
    }
    let mut start = block_start(len - 1);
    loop {
        let mut reader = SegmentReader::new(file, start)?;
        if reader.block_has_start()?
            && let Some(time) = last_time(&mut reader)?
        {
            return Ok(Some(time));
        }
        if start <= FIRST_RECORD {
            return Ok(None);
        }
        start -= BLOCK as u64;
    }
}

fn last_time(reader: &mut SegmentReader<&File>) -> io::Result<Option<Timestamp>> {
    let mut last = None;
    loop {
        match reader.next()? {
            Found::Entry(bytes) => last = entry_time(bytes).ok().or(last),
            Found::Damage(_) => {}
            Found::Torn(_) | Found::End => return Ok(last),
        }
    }
}

/// When a segment was last written to: its last entry's time, or the file's own where none can be read.
pub fn last_write(path: &Path) -> io::Result<Option<Timestamp>> {
    let file = File::open(path)?;
    if let Ok(Some(time)) = last_entry_time(&file) {
        return Ok(Some(time));
    }
    Ok(modified(&file.metadata()?))
}

fn modified(metadata: &Metadata) -> Option<Timestamp> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Timestamp::from_unix(i64::try_from(since.as_secs()).ok()?, since.subsec_nanos())
}
