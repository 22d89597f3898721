//! `.queue-version`: four bytes that say how pages are written. Queues from before it have pages that differ in their
//! first byte only.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use super::disk::{Disk, Name};
use super::open::OpenError;
use super::page::{self, OLD_VERSION, VERSION};

const FILE: &str = ".queue-version";
const CONTENT: [u8; 4] = [0, 0, 0, 2];

/// Checks the version of a queue; an old one is brought up to date, a new one gets its file.
pub fn settle(disk: &Disk) -> Result<(), OpenError> {
    let path = disk.directory().join(FILE);
    let failed = |source| OpenError::Io { path: path.clone(), source };
    match fs::read(&path) {
        Ok(content) if content == CONTENT => return Ok(()),
        // A power cut right after it was made.
        Ok(content) if content.is_empty() => {}
        Ok(content) => return Err(OpenError::Version { path, content }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    upgrade(disk)?;
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(&CONTENT)?;
        file.sync_all()
    });
    written.map_err(failed)
}

/// Each page that its checkpoint describes is read through before it counts as one of this version.
fn upgrade(disk: &Disk) -> Result<(), OpenError> {
    let failed = |source| OpenError::Io { path: disk.directory().to_owned(), source };
    for name in disk.list().map_err(failed)? {
        let Name::Page(number) = name else { continue };
        let file = disk.open_page(number).map_err(failed)?;
        let mut version = [0];
        if file.read_at(&mut version, 0).map_err(failed)? == 0 || version != [OLD_VERSION] {
            continue;
        }
        let checkpoint = [Name::Tail(number), Name::Head].into_iter().find_map(|name| {
            let read = disk.read(name).ok()?;
            super::checkpoint::Checkpoint::decode(&read).ok().filter(|checkpoint| checkpoint.page == number)
        });
        let Some(checkpoint) = checkpoint else { continue };
        let found = page::scan(&file, 0, u64::MAX).map_err(failed)?;
        if found.count < u64::from(checkpoint.count) {
            return Err(OpenError::Page {
                path: disk.path(name),
                directory: disk.directory().to_owned(),
                what: format!("it has {} whole elements, and its checkpoint says {}", found.count, checkpoint.count),
            });
        }
        file.write_all_at(&[VERSION], 0).and_then(|()| file.sync_data()).map_err(failed)?;
    }
    Ok(())
}
