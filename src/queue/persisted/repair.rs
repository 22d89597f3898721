//! Making a queue usable whose files do not fit together: what is over is removed, and checkpoints are made anew from
//! the pages. Nothing that can be read is given up; events may come twice.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use super::checkpoint::{Checkpoint, LENGTH};
use super::disk::{Disk, Name};
use super::inspect::InspectError;
use super::open::OpenError;
use super::page::{self, SMALLEST};
use crate::storage::Lock;

/// What was done, a line each.
pub type Repaired = Vec<String>;

/// Repairs a queue that nobody has open.
pub fn repair(directory: &Path) -> Result<Repaired, OpenError> {
    let failed = |source| OpenError::Io { path: directory.to_owned(), source };
    if !directory.is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "no such directory")));
    }
    let _lock = Lock::take(directory, ".lock", true)?;
    let disk = Disk::new(directory, true);
    let mut repair = Repair { disk: &disk, done: Vec::new() };
    repair.run().map_err(|InspectError { path, source }| OpenError::Io { path, source })?;
    Ok(repair.done)
}

struct Repair<'a> {
    disk: &'a Disk,
    done: Repaired,
}

impl Repair<'_> {
    fn run(&mut self) -> Result<(), InspectError> {
        let directory = self.disk.directory().to_owned();
        let failed = |source| InspectError { path: directory.clone(), source };
        self.remove_half_written().map_err(failed)?;
        let names: BTreeSet<Name> = self.disk.list().map_err(failed)?.into_iter().collect();
        let first = self.checkpoint(Name::Head).map_or(0, |head| head.first_unacked_page);
        for name in &names {
            match *name {
                Name::Page(number) | Name::Tail(number) if number < first => {
                    self.remove(*name, "everything in it is acknowledged").map_err(failed)?;
                }
                Name::Tail(number) if !names.contains(&Name::Page(number)) => {
                    self.remove(*name, "its page is missing").map_err(failed)?;
                }
                Name::Page(number) => self.page(number, &names).map_err(failed)?,
                _ => {}
            }
        }
        self.head().map_err(failed)?;
        self.disk.sync_directory().map_err(failed)
    }

    fn remove_half_written(&mut self) -> io::Result<()> {
        for entry in fs::read_dir(self.disk.directory())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("checkpoint.") && name.ends_with(".tmp") {
                fs::remove_file(entry.path())?;
                self.done.push(format!("removed {name}: it was never completed"));
            }
        }
        Ok(())
    }

    /// Pages without room for an element go; so does a tail's checkpoint that is not one.
    fn page(&mut self, number: u32, names: &BTreeSet<Name>) -> io::Result<()> {
        let size = fs::metadata(self.disk.path(Name::Page(number)))?.len();
        if size < SMALLEST {
            self.remove(Name::Page(number), "it is too small to hold an event")?;
            if names.contains(&Name::Tail(number)) {
                self.remove(Name::Tail(number), "its page was too small")?;
            }
            return Ok(());
        }
        let is_head = self.checkpoint(Name::Head).is_some_and(|head| head.page == number);
        let is_last = names.iter().all(|name| !matches!(name, Name::Page(n) if *n > number));
        if is_head || is_last || self.checkpoint(Name::Tail(number)).is_some() {
            return Ok(());
        }
        if let Some(checkpoint) = self.checkpoint_of(number, 0)? {
            self.disk.write_checkpoint(Name::Tail(number), &checkpoint)?;
            self.done.push(format!("made checkpoint.{number} from its page: {} events", checkpoint.count));
        }
        Ok(())
    }

    /// A head's checkpoint that is missing or broken is made from the last page; so is one whose page is gone.
    fn head(&mut self) -> io::Result<()> {
        let names = self.disk.list()?;
        let pages = || names.iter().filter_map(|name| if let Name::Page(n) = name { Some(*n) } else { None });
        let stands = self.checkpoint(Name::Head);
        match (stands, pages().next_back()) {
            (Some(head), _) if pages().any(|number| number == head.page) => Ok(()),
            (None, None) if names.contains(&Name::Head) => {
                self.remove(Name::Head, "it is damaged, and no page is left")
            }
            (Some(_), None) | (None, None) => Ok(()),
            (_, Some(last)) => {
                let first = pages().next().unwrap_or(last);
                let empty = Checkpoint { page: last, first_unacked_page: first, ..Checkpoint::default() };
                let checkpoint = self.checkpoint_of(last, first)?.unwrap_or(empty);
                self.disk.write_checkpoint(Name::Head, &checkpoint)?;
                if names.contains(&Name::Tail(last)) {
                    self.remove(Name::Tail(last), "its page is the head now")?;
                }
                self.done.push(format!("made checkpoint.head from page.{last}: {} events", checkpoint.count));
                Ok(())
            }
        }
    }

    /// As if nothing in the page were acknowledged.
    fn checkpoint_of(&self, number: u32, first_unacked_page: u32) -> io::Result<Option<Checkpoint>> {
        let found = page::scan(&self.disk.open_page(number)?, 0, u64::MAX)?;
        Ok((found.count > 0).then(|| Checkpoint {
            page: number,
            first_unacked_page,
            first_unacked: found.first,
            first: found.first,
            count: u32::try_from(found.count).unwrap_or(u32::MAX),
        }))
    }

    /// A checkpoint, if it is whole.
    fn checkpoint(&self, name: Name) -> Option<Checkpoint> {
        let bytes = self.disk.read(name).ok().filter(|bytes| bytes.len() == LENGTH)?;
        Checkpoint::decode(&bytes).ok()
    }

    fn remove(&mut self, name: Name, why: &str) -> io::Result<()> {
        self.disk.remove(name)?;
        self.done.push(format!("removed {name}: {why}"));
        Ok(())
    }
}
