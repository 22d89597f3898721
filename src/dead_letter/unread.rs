//! Segments that a reader passed over because it could not read them. Nobody has had their entries, so they are not
//! deleted, neither now nor after a restart: their numbers are kept in a file beside the position, one a line.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::directory::{self, Listing};

/// The numbers, and the file that holds them.
#[derive(Debug)]
pub(super) struct Unread {
    file: PathBuf,
    segments: BTreeSet<u32>,
    saved: BTreeSet<u32>,
}

impl Unread {
    /// What an earlier run with this position file left, as far as the segments are still there.
    pub fn load(sincedb: &Path, directory: &Path) -> io::Result<Self> {
        let mut file = sincedb.as_os_str().to_owned();
        file.push(".unread");
        let file = PathBuf::from(file);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let saved: BTreeSet<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        let mut segments = saved.clone();
        if let Ok(listing) = Listing::read(directory) {
            segments.retain(|number| listing.taken.contains(number));
        }
        for number in &segments {
            tracing::warn!(
                file = %directory::sealed(directory, *number).display(),
                "an earlier run could not read this dead letter queue segment; it is kept until somebody removes it"
            );
        }
        Ok(Self { file, segments, saved })
    }

    /// A reader could not read this segment, or not to its end.
    pub fn add(&mut self, segment: u32) {
        self.segments.insert(segment);
    }

    /// Whether nobody has read all of this segment.
    pub fn contains(&self, segment: u32) -> bool {
        self.segments.contains(&segment)
    }

    /// Puts the numbers on the disk, if they are others than there.
    pub fn save(&mut self) -> io::Result<()> {
        if self.segments == self.saved {
            return Ok(());
        }
        let parent = self.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent)?;
        let mut temporary = self.file.as_os_str().to_owned();
        temporary.push(".tmp");
        let mut file = File::create(&temporary)?;
        for number in &self.segments {
            writeln!(file, "{number}")?;
        }
        file.sync_all()?;
        fs::rename(&temporary, &self.file)?;
        directory::sync_all(&[File::open(parent)?])?;
        self.saved.clone_from(&self.segments);
        Ok(())
    }
}

/// Whether a file could not be opened for want of descriptors or memory, which says nothing about the file.
pub(super) fn is_shortage(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}
