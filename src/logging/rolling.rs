//! A log file that is rolled each day and at 100 MB, packed, and kept for a week: 30 old files at most.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::ZonedDateTime;
use jiff::civil::Date;

const MAX_BYTES: u64 = 100 * 1024 * 1024;
const MAX_FILES: usize = 30;
const MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// The log file that is written to now.
#[derive(Debug)]
pub(super) struct RollingFile {
    directory: PathBuf,
    stem: &'static str,
    file: File,
    bytes: u64,
    day: Date,
    max_bytes: u64,
}

impl RollingFile {
    /// Opens `<directory>/<stem>.log`, going on behind what is in it.
    pub(super) fn open(directory: &Path, stem: &'static str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let (file, bytes, day) = open(&directory.join(format!("{stem}.log")))?;
        Ok(Self { directory: directory.to_owned(), stem, file, bytes, day, max_bytes: MAX_BYTES })
    }

    /// Appends a line; what cannot be written is lost.
    pub(super) fn write(&mut self, line: &[u8], now: &ZonedDateTime) {
        let length = line.len() as u64;
        if now.date() != self.day || (self.bytes > 0 && self.bytes + length > self.max_bytes) {
            self.roll(now.date());
        }
        if self.file.write_all(line).is_ok() {
            self.bytes += length;
        }
    }

    /// Opens the file by its name again.
    pub(super) fn reopen(&mut self) {
        if let Ok((file, bytes, day)) = open(&self.current()) {
            (self.file, self.bytes, self.day) = (file, bytes, day);
        }
    }

    fn current(&self) -> PathBuf {
        self.directory.join(format!("{}.log", self.stem))
    }

    fn roll(&mut self, today: Date) {
        let old_day = std::mem::replace(&mut self.day, today);
        if self.bytes == 0 {
            return;
        }
        // The first number that no file of that day has.
        let name = |n: u32| self.directory.join(format!("{}-{old_day}-{n}.log", self.stem));
        let free = (1..).find(|n| !name(*n).exists() && !packed(&name(*n)).exists());
        let Some(rolled) = free.map(name) else { return };
        if fs::rename(self.current(), &rolled).is_err() {
            return;
        }
        self.reopen();
        let (directory, stem) = (self.directory.clone(), self.stem);
        let pack_and_prune = move || {
            // A file that cannot be packed stays as it is, and ages like the others.
            let _unpacked = pack(&rolled);
            prune(&directory, stem, SystemTime::now());
        };
        let _missing = std::thread::Builder::new().name("log-pack".into()).spawn(pack_and_prune);
    }
}

fn open(path: &Path) -> io::Result<(File, u64, Date)> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let found = file.metadata()?;
    let today = ZonedDateTime::now().date();
    // A file of an earlier day is rolled at the next line.
    let day = if found.len() == 0 { today } else { found.modified().ok().and_then(date).unwrap_or(today) };
    Ok((file, found.len(), day))
}

fn date(time: SystemTime) -> Option<Date> {
    let timestamp = jiff::Timestamp::try_from(time).ok()?;
    Some(timestamp.to_zoned_datetime(jiff::tz::TimeZone::system()).date())
}

fn packed(path: &Path) -> PathBuf {
    path.with_extension("log.gz")
}

fn pack(path: &Path) -> io::Result<()> {
    let unfinished = path.with_extension("log.gz.tmp");
    let mut encoder = GzEncoder::new(File::create(&unfinished)?, Compression::default());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?;
    fs::rename(&unfinished, packed(path))?;
    fs::remove_file(path)
}

/// Deletes what is too old or too much.
fn prune(directory: &Path, stem: &str, now: SystemTime) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let rolled =
        |name: &str| name.strip_prefix(stem).is_some_and(|rest| rest.starts_with('-')) && name.contains(".log");
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(rolled))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    for (at, (modified, path)) in files.iter().enumerate() {
        if at >= MAX_FILES || now.duration_since(*modified).is_ok_and(|age| age > MAX_AGE) {
            let _stays = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Packing happens in the background.
    fn wait_for(directory: &Path, expected: &[&str]) {
        let patience = std::time::Instant::now() + Duration::from_secs(20);
        while names(directory) != expected && std::time::Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(names(directory), expected);
    }

    #[test]
    fn a_full_file_is_rolled_and_packed() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RollingFile::open(dir.path(), "logstash-plain").unwrap();
        file.max_bytes = 10;
        file.day = jiff::civil::date(2026, 3, 4);
        let now = file.day.at(12, 0, 0, 0).in_tz("UTC").unwrap();
        file.write(b"12345678\n", &now);
        file.write(b"abcdefgh\n", &now);
        wait_for(dir.path(), &["logstash-plain-2026-03-04-1.log.gz", "logstash-plain.log"]);
        let packed = File::open(dir.path().join("logstash-plain-2026-03-04-1.log.gz")).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        assert_eq!(text, "12345678\n");
        assert_eq!(fs::read_to_string(dir.path().join("logstash-plain.log")).unwrap(), "abcdefgh\n");
    }

    #[test]
    fn a_new_day_rolls() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RollingFile::open(dir.path(), "logstash-plain").unwrap();
        let day = jiff::civil::date(2026, 3, 4);
        file.day = day;
        file.write(b"old\n", &day.at(23, 59, 0, 0).in_tz("UTC").unwrap());
        file.write(b"new\n", &day.tomorrow().unwrap().at(0, 1, 0, 0).in_tz("UTC").unwrap());
        wait_for(dir.path(), &["logstash-plain-2026-03-04-1.log.gz", "logstash-plain.log"]);
        assert_eq!(fs::read_to_string(dir.path().join("logstash-plain.log")).unwrap(), "new\n");
    }

    #[test]
    fn old_files_and_too_many_go() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..MAX_FILES + 5 {
            fs::write(dir.path().join(format!("logstash-plain-2026-03-04-{n}.log.gz")), "").unwrap();
        }
        fs::write(dir.path().join("logstash-plain.log"), "").unwrap();
        fs::write(dir.path().join("other.log"), "").unwrap();
        prune(dir.path(), "logstash-plain", SystemTime::now());
        assert_eq!(names(dir.path()).len(), MAX_FILES + 2);
        prune(dir.path(), "logstash-plain", SystemTime::now() + MAX_AGE + Duration::from_secs(60));
        assert_eq!(names(dir.path()), ["logstash-plain.log", "other.log"]);
    }

    #[test]
    fn a_moved_file_is_opened_anew() {
        let dir = tempfile::tempdir().unwrap();
        let now = ZonedDateTime::now();
        let mut file = RollingFile::open(dir.path(), "logstash-json").unwrap();
        file.write(b"a\n", &now);
        fs::rename(dir.path().join("logstash-json.log"), dir.path().join("moved")).unwrap();
        file.reopen();
        file.write(b"b\n", &now);
        assert_eq!(fs::read_to_string(dir.path().join("logstash-json.log")).unwrap(), "b\n");
    }
}
