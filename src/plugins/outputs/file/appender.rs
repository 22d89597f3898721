//! One file that grows: opened when needed, opened again when it was moved away, written in whole batches.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use super::journal::{Identity, Journal};
use super::member::Member;
use crate::plugins::Lease;

/// Bytes of gathered batches that are written without waiting longer. Writes of this size let the kernel use large
/// pages of its cache, which halves their cost.
const GATHERED: usize = 512 * 1024;

/// How files are made and written.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    /// Whether the file holds gzip.
    pub gzip: bool,
    /// Whether a batch replaces the content instead of following it; not with gzip.
    pub overwrite: bool,
    /// Rights of a new file; the umask applies.
    pub file_mode: Option<u32>,
    /// Rights of a new directory; the umask applies.
    pub dir_mode: Option<u32>,
    /// Where open files are noted, when a crash can leave half a line in them.
    pub journal: Option<Arc<Journal>>,
}

/// A file that grows.
pub(super) struct Appender {
    path: PathBuf,
    manner: Manner,
    open: Option<Open>,
    member: Option<Member>,
    /// Bytes that are due to be written, how much of them is, and the batches in them.
    finished: Vec<u8>,
    written: usize,
    leases: Vec<Lease>,
    /// Whether it was written to since the last look at idle files.
    pub is_used: bool,
    /// Whether it was taken out of the table of open files: whoever waited for it must look there again.
    pub is_retired: bool,
}

struct Open {
    file: File,
    identity: Identity,
}

impl Appender {
    /// For a file that is not open yet.
    pub fn new(path: PathBuf, manner: Manner) -> Self {
        Self {
            path,
            manner,
            open: None,
            member: None,
            finished: Vec::new(),
            written: 0,
            leases: Vec::new(),
            is_used: true,
            is_retired: false,
        }
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that compressed bytes will find their file.
    pub fn prepare(&mut self) -> Result<()> {
        self.write_finished()?;
        self.open()
    }

    /// Writes the bytes from `written` on, which is moved as far as the disk takes them. A write that stopped half
    /// way goes on in the same file.
    pub fn append(&mut self, bytes: &[u8], written: &mut usize) -> Result<()> {
        self.is_used = true;
        if *written == 0 {
            self.open()?;
        }
        let Some(Open { file, .. }) = &mut self.open else { return Err(ErrorKind::NotFound.into()) };
        if self.manner.overwrite && *written == 0 {
            file.set_len(0)?;
        }
        write_from(file, bytes, written)
    }

    /// Compresses the bytes of a batch; they are in the file once the member they are in is.
    pub fn compress(&mut self, bytes: &[u8], lease: Lease) -> Result<()> {
        self.is_used = true;
        self.member.get_or_insert_with(Member::new).push(bytes, lease)
    }

    /// Keeps the bytes of a batch for the next write, and its lease until then.
    pub fn gather(&mut self, bytes: &[u8], lease: Lease) {
        self.is_used = true;
        self.finished.extend_from_slice(bytes);
        self.leases.push(lease);
    }

    /// Whether it is time to write without waiting for a flush.
    pub fn is_full(&self) -> bool {
        self.finished.len() >= GATHERED || self.member.as_ref().is_some_and(Member::is_full)
    }

    /// Completes the open member if it is time, or in any case with `all`, and writes what is complete.
    pub fn flush(&mut self, all: bool) -> Result<()> {
        self.write_finished()?;
        if let Some(member) = self.member.take_if(|member| all || member.is_due()) {
            (self.finished, self.leases) = member.finish()?;
            self.write_finished()?;
        }
        Ok(())
    }

    /// The file is closed for good, with whole lines in it: whoever waited for it must ask for it again.
    pub fn retire(&mut self) {
        self.is_retired = true;
        if let (Some(journal), Some(open)) = (&self.manner.journal, self.open.take()) {
            journal.closed(open.identity);
        }
    }

    /// Gives up what the disk did not take: its batches are not acknowledged. The number of lost bytes.
    pub fn abandon(&mut self) -> usize {
        let mut bytes = std::mem::take(&mut self.finished).len();
        if let Some(Ok((member, leases))) = self.member.take().map(Member::finish) {
            bytes += member.len();
            self.leases.extend(leases);
        }
        self.leases.clear();
        bytes
    }

    fn write_finished(&mut self) -> Result<()> {
        if self.finished.is_empty() {
            return Ok(());
        }
        let (bytes, mut written) = (std::mem::take(&mut self.finished), self.written);
        let done = self.append(&bytes, &mut written);
        match done {
            Ok(()) => {
                self.finished = bytes;
                self.finished.clear();
                self.written = 0;
                self.leases.drain(..).for_each(Lease::settle);
            }
            Err(_) => (self.finished, self.written) = (bytes, written),
        }
        done
    }

    /// Opens the file, again if another one, or none, has its name now.
    fn open(&mut self) -> Result<()> {
        let there = std::fs::metadata(&self.path);
        if let (Some(open), Ok(there)) = (&self.open, &there)
            && open.identity == identity(there)
        {
            return Ok(());
        }
        self.open = None;
        let is_fifo = there.as_ref().is_ok_and(|there| there.file_type().is_fifo());
        let mut file = if is_fifo { open_fifo(&self.path)? } else { self.open_or_create()? };
        let there = file.metadata()?;
        if self.manner.gzip && there.is_file() && there.len() == 0 {
            // An empty file is no gzip, and its first member may be a minute away.
            file.write_all(&Member::new().finish()?.0)?;
        }
        let identity = identity(&there);
        if let Some(journal) = self.manner.journal.as_ref().filter(|_| there.is_file()) {
            journal.opened(identity, there.len(), &self.path);
        }
        self.open = Some(Open { file, identity });
        Ok(())
    }

    fn open_or_create(&self) -> Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(self.manner.file_mode.unwrap_or(0o666));
        match options.open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Some(parent) = self.path.parent() {
                    let mode = self.manner.dir_mode.unwrap_or(0o777);
                    DirBuilder::new().recursive(true).mode(mode).create(parent)?;
                }
                options.open(&self.path)
            }
            opened => opened,
        }
    }
}

/// What is still in memory was not written.
impl Drop for Appender {
    fn drop(&mut self) {
        self.abandon();
    }
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

/// Fails while nobody reads, instead of waiting where no stop is seen.
fn open_fifo(path: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
    Ok(file)
}

fn write_from(file: &mut File, bytes: &[u8], written: &mut usize) -> Result<()> {
    while let Some(rest @ [_, ..]) = bytes.get(*written..) {
        match file.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
