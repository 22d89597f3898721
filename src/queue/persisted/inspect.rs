//! What is in the files of a queue, read from outside: nothing is changed, and no lock is taken.

use std::io;
use std::path::{Path, PathBuf};

use super::checkpoint::{BadCheckpoint, Checkpoint};
use super::disk::{Disk, Name};
use super::element::{Reader, Traffic};
use super::page;
use super::settings::Compression;
use crate::event::Bytes;

/// A directory that cannot be read as a queue.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct InspectError {
    /// The directory or file.
    pub path: PathBuf,
    /// Why not.
    pub source: io::Error,
}

/// A page and its checkpoint, of which one may be missing.
#[derive(Clone, Debug)]
pub struct PageReport {
    /// The name of the checkpoint's file.
    pub checkpoint_file: String,
    /// What it says; none when it is missing.
    pub checkpoint: Option<Result<Checkpoint, BadCheckpoint>>,
    /// The number of the page.
    pub page: u32,
    /// Bytes of its file; none when it is missing.
    pub size: Option<u64>,
    /// Events that are in it.
    pub events: u64,
    /// Those of them that are not acknowledged.
    pub unacked: u64,
    /// Bytes of its data.
    pub bytes: u64,
    /// Events that cannot be read: the checksum is wrong, or they are no events.
    pub damaged: u64,
    /// What else is wrong.
    pub fault: Option<String>,
}

impl PageReport {
    /// Whether everything about it is as it should be.
    pub fn is_sound(&self) -> bool {
        self.fault.is_none() && self.damaged == 0 && self.checkpoint.as_ref().is_none_or(Result::is_ok)
    }
}

/// What is in a queue.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Pages in order; the head is the last one.
    pub pages: Vec<PageReport>,
    /// Whether the head's checkpoint is there.
    pub has_head: bool,
}

/// A page as its checkpoint and the names of the files tell, before it is read.
pub(super) struct Known {
    /// The file of its checkpoint, whether there is one or not.
    pub name: Name,
    /// What the checkpoint says; none when it is missing.
    pub checkpoint: Option<Result<Checkpoint, BadCheckpoint>>,
    /// The number of the page.
    pub page: u32,
}

/// The pages of a queue in order, the head last.
pub(super) fn pages(disk: &Disk) -> Result<Vec<Known>, InspectError> {
    let names = disk.list().map_err(failed(disk.directory()))?;
    let numbers = || names.iter().filter_map(|name| if let Name::Page(n) = name { Some(*n) } else { None });
    let mut pages = Vec::new();
    for name in names.iter().filter(|name| !matches!(name, Name::Page(_))) {
        let bytes = disk.read(*name).map_err(failed(&disk.path(*name)))?;
        let checkpoint = Checkpoint::decode(&bytes);
        let page = match (name, &checkpoint) {
            (Name::Tail(number), _) => Some(*number),
            (_, Ok(checkpoint)) => Some(checkpoint.page),
            // A head that cannot be read most likely belongs to the last page.
            _ => numbers().next_back(),
        };
        pages.push(Known { name: *name, checkpoint: Some(checkpoint), page: page.unwrap_or(0) });
    }
    for page in numbers() {
        if pages.iter().all(|known| known.page != page) {
            pages.push(Known { name: Name::Tail(page), checkpoint: None, page });
        }
    }
    pages.sort_by_key(|known| (known.name == Name::Head, known.page));
    Ok(pages)
}

pub(super) fn failed(path: &Path) -> impl FnOnce(io::Error) -> InspectError {
    let path = path.to_owned();
    move |source| InspectError { path, source }
}

/// Reads a queue through. With `deep` every event is decoded, too.
pub fn inspect(directory: &Path, deep: bool) -> Result<Inspection, InspectError> {
    let disk = Disk::new(directory, false);
    let known = pages(&disk)?;
    let has_head = known.iter().any(|known| known.name == Name::Head);
    let look = |known: Known| {
        let path = disk.path(Name::Page(known.page));
        look_at(&disk, known, deep).map_err(failed(&path))
    };
    Ok(Inspection { pages: known.into_iter().map(look).collect::<Result<_, _>>()?, has_head })
}

fn look_at(disk: &Disk, known: Known, deep: bool) -> io::Result<PageReport> {
    let Known { name, checkpoint, page: number } = known;
    let has_checkpoint = checkpoint.is_some();
    let known = checkpoint.as_ref().and_then(|checkpoint| checkpoint.as_ref().ok()).copied();
    let mut report = PageReport {
        checkpoint_file: name.to_string(),
        checkpoint,
        page: number,
        size: None,
        events: 0,
        unacked: 0,
        bytes: 0,
        damaged: 0,
        fault: None,
    };
    let is_done = known.is_some_and(|checkpoint| checkpoint.is_fully_acked());
    let file = match disk.open_page(number) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !is_done {
                report.fault = Some("its page is missing".to_owned());
            }
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let size = file.metadata()?.len();
    report.size = Some(size);
    let trusted = known.map_or(0, |checkpoint| u64::from(checkpoint.count));
    let (mut reader, mut no_events) = (Reader::new(Compression::None), 0);
    let found = page::scan_each(&file, trusted, u64::MAX, |_, payload| {
        if deep {
            no_events += u64::from(reader.decode(&Bytes::from(payload), &Traffic::default()).is_err());
        }
    })?;
    let end = found.first + found.count;
    let from = known.map_or(found.first, |checkpoint| checkpoint.first_unacked.clamp(found.first, end));
    report.events = found.count;
    report.unacked = end - from;
    report.bytes = found.end;
    report.damaged = found.bad + no_events;
    report.fault = match known {
        _ if size < page::SMALLEST && !is_done => Some("Page file size is too small to hold elements".to_owned()),
        _ if found.version != page::VERSION && size > 0 => Some(format!("unknown page version {}", found.version)),
        _ if !has_checkpoint => Some("it has no checkpoint".to_owned()),
        Some(checkpoint) if found.count < u64::from(checkpoint.count) => {
            Some(format!("its checkpoint says {} events, {} can be read", checkpoint.count, found.count))
        }
        _ => None,
    };
    Ok(report)
}
