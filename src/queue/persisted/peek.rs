//! The events of a queue, read from outside: nothing is acknowledged, and no lock is taken.

use std::path::Path;

use super::disk::{Disk, Name};
use super::element::{Reader, Traffic};
use super::inspect::{InspectError, inspect};
use super::page;
use super::settings::Compression;
use crate::event::{Bytes, Event};

/// Gives `each` the events that are not acknowledged, in order, or what is wrong with one, until it returns `false`.
pub fn peek(directory: &Path, mut each: impl FnMut(Result<Event, String>) -> bool) -> Result<(), InspectError> {
    let disk = Disk::new(directory, false);
    let mut reader = Reader::new(Compression::None);
    let mut goes_on = true;
    for report in inspect(directory, false)?.pages.iter().filter(|report| report.unacked > 0) {
        let path = disk.path(Name::Page(report.page));
        let failed = |source| InspectError { path: path.clone(), source };
        let file = disk.open_page(report.page).map_err(failed)?;
        let checkpoint = report.checkpoint.as_ref().and_then(|checkpoint| checkpoint.as_ref().ok());
        let from = checkpoint.map_or(0, |checkpoint| checkpoint.first_unacked);
        let trusted = checkpoint.map_or(0, |checkpoint| u64::from(checkpoint.count));
        let scanned = page::scan_each(&file, trusted, u64::MAX, |number, payload| {
            if number >= from && goes_on {
                let event = reader.read(&Bytes::from(payload), crc32fast::hash(payload), &Traffic::default());
                goes_on = each(event.map_err(|error| format!("{}, number {number}: {error}", path.display())));
            }
        });
        let found = scanned.map_err(failed)?;
        if !goes_on {
            return Ok(());
        }
        if found.bad > 0 && !each(Err(format!("{}: {} events are damaged", path.display(), found.bad))) {
            return Ok(());
        }
    }
    Ok(())
}
