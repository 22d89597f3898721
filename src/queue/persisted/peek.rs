//! The events of a queue, read from outside: nothing is acknowledged, and no lock is taken.

use std::io;
use std::path::Path;

use super::disk::{Disk, Name};
use super::element::{Reader, Traffic};
use super::inspect::{InspectError, Known, failed, pages};
use super::page;
use super::settings::Compression;
use crate::event::{Bytes, Event};

/// Gives `each` the events that are not acknowledged, in order, or what is wrong with one, until it returns `false`.
pub fn peek(directory: &Path, mut each: impl FnMut(Result<Event, String>) -> bool) -> Result<(), InspectError> {
    let disk = Disk::new(directory, false);
    let mut reader = Reader::new(Compression::None);
    let mut goes_on = true;
    for Known { name, checkpoint, page: number } in pages(&disk)? {
        let checkpoint = checkpoint.and_then(Result::ok).unwrap_or_default();
        // The head has more than its checkpoint says.
        if name != Name::Head && checkpoint.is_fully_acked() {
            continue;
        }
        let path = disk.path(Name::Page(number));
        let file = match disk.open_page(number) {
            Ok(file) => file,
            // Its events were acknowledged, or are lost: `verify` tells.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&path)(error)),
        };
        let scanned = page::scan_each(&file, u64::from(checkpoint.count), u64::MAX, |number, payload| {
            if number >= checkpoint.first_unacked && goes_on {
                let event = reader.decode(&Bytes::from(payload), &Traffic::default());
                goes_on = each(event.map_err(|error| format!("{}, number {number}: {error}", path.display())));
            }
        });
        let found = scanned.map_err(failed(&path))?;
        if !goes_on {
            return Ok(());
        }
        if found.bad > 0 && !each(Err(format!("{}: {} events are damaged", path.display(), found.bad))) {
            return Ok(());
        }
    }
    Ok(())
}
