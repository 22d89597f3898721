//! The options of the `file` input.

use std::path::{Path, PathBuf};
use std::time::Duration;

use md5::{Digest, Md5};
use memchr::memmem::Finder;

use super::glob::{Glob, NamePattern};
use crate::plugins::Options;

const DAY: Duration = Duration::from_secs(86400);
const HOUR: Duration = Duration::from_secs(3600);
/// Reads in a row of one file, unless the configuration says how many: as good as no limit.
const ENDLESS: i64 = 4_611_686_018_427_387_903;

/// What the configuration says.
pub(super) struct Settings {
    pub globs: Vec<Glob>,
    pub exclude: Vec<NamePattern>,
    pub mode: Mode,
    /// Where positions are kept.
    pub sincedb: PathBuf,
    pub sincedb_write_interval: Duration,
    pub sincedb_clean_after: Duration,
    pub stat_interval: Duration,
    /// Rounds from one look for files to the next.
    pub discover_interval: u64,
    pub delimiter: Finder<'static>,
    pub close_older: Duration,
    pub max_open_files: usize,
    /// Bytes read of one file before the next one has its turn.
    pub stripe: u64,
    pub order: Order,
}

/// What happens at the end of a file.
pub(super) enum Mode {
    /// It is waited for more.
    Tail {
        /// Whether files that are there at the start are read from their beginning.
        from_beginning: bool,
        /// Files that did not change for so long are not read until they do.
        ignore_older: Option<Duration>,
    },
    /// It is done with.
    Read {
        /// What is done with it then.
        completed: Completed,
        /// Whether the input ends when all files are read.
        exit: bool,
        /// Whether an archive is tested before it is read.
        check_archives: bool,
    },
}

/// What is done with a file that was read.
#[derive(Clone)]
pub(super) struct Completed {
    /// Appends its path to this file.
    pub log: Option<PathBuf>,
    pub delete: bool,
}

/// Which file is read first.
#[derive(Clone, Copy)]
pub(super) struct Order {
    pub by_path: bool,
    pub descending: bool,
}

impl Settings {
    /// Declares and reads the options.
    pub fn read(options: &mut Options<'_>) -> Self {
        let paths = options.strings("path").doc("Files to read: absolute paths, or globs such as /var/log/**/*.log.");
        let paths = paths.required();
        for path in paths.iter().filter(|path| !path.starts_with('/')) {
            options.invalid("path", format!("File paths must be absolute, relative path specified: {path}"));
        }
        let exclude = options.strings("exclude").doc("Names of files to leave out, globs allowed.").optional();
        let sincedb = sincedb(options, &paths);
        if !sincedb.starts_with("/dev") {
            options.context().claims.hold(format_args!("position file {}", sincedb.display()));
        }
        let mode = mode(options);
        Self {
            globs: paths.iter().map(|path| Glob::new(path)).collect(),
            exclude: exclude.unwrap_or_default().iter().map(|name| NamePattern::new(name)).collect(),
            mode,
            sincedb,
            sincedb_write_interval: options
                .duration("sincedb_write_interval")
                .doc("How often positions are saved while files are read.")
                .default(Duration::from_secs(15)),
            sincedb_clean_after: options
                .days("sincedb_clean_after")
                .doc("Positions of files that were not read for so long are forgotten (a bare number: days).")
                .default(14 * DAY),
            stat_interval: options
                .duration("stat_interval")
                .doc("Pause between two rounds of looking whether files grew.")
                .default(Duration::from_secs(1)),
            discover_interval: count(
                options,
                "discover_interval",
                "Rounds from one look for new files to the next.",
                15,
            ),
            delimiter: delimiter(options),
            close_older: options
                .duration("close_older")
                .doc("A file that did not grow for so long is closed until it does.")
                .default(HOUR),
            max_open_files: usize::try_from(count(options, "max_open_files", "Most files open at a time.", 4095))
                .unwrap_or(usize::MAX),
            stripe: stripe(options),
            order: order(options),
        }
    }
}

fn count(options: &mut Options<'_>, name: &'static str, doc: &'static str, default: i64) -> u64 {
    let given = options.integer(name).doc(doc).default(default);
    u64::try_from(given).ok().filter(|given| *given > 0).unwrap_or_else(|| {
        options.invalid(name, format!("{name} must be at least 1"));
        1
    })
}

fn stripe(options: &mut Options<'_>) -> u64 {
    let size = count(options, "file_chunk_size", "Bytes that count as one read.", 32768);
    let reads = count(options, "file_chunk_count", "Reads of one file before the next one has its turn.", ENDLESS);
    size.saturating_mul(reads)
}

fn delimiter(options: &mut Options<'_>) -> Finder<'static> {
    let delimiter = options.string("delimiter").doc("What ends a line.").default("\n".to_owned());
    if delimiter.is_empty() {
        options.invalid("delimiter", "the delimiter of lines cannot be empty");
        return Finder::new(b"\n").into_owned();
    }
    Finder::new(delimiter.as_bytes()).into_owned()
}

fn order(options: &mut Options<'_>) -> Order {
    let by = options.word("file_sort_by", &["last_modified", "path"]).doc("What decides which file is read first.");
    let by_path = by.default("last_modified".to_owned()) == "path";
    let direction = options.word("file_sort_direction", &["asc", "desc"]).doc("Whether the smallest comes first.");
    Order { by_path, descending: direction.default("asc".to_owned()) == "desc" }
}

/// Where positions are kept: in Logstash's place unless told otherwise.
fn sincedb(options: &mut Options<'_>, paths: &[String]) -> PathBuf {
    let given =
        options.string("sincedb_path").doc("File that keeps the positions; /dev/null to forget them.").optional();
    match given.map(PathBuf::from) {
        Some(path) => {
            if path.is_dir() {
                options.invalid(
                    "sincedb_path",
                    format!(
                        "The \"sincedb_path\" argument must point to a file, received a directory: {}",
                        path.display()
                    ),
                );
            }
            path
        }
        None => default_sincedb(&options.context().path_data, paths),
    }
}

fn default_sincedb(path_data: &Path, paths: &[String]) -> PathBuf {
    let digest = Md5::digest(paths.join(","));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    path_data.join("plugins/inputs/file").join(format!(".sincedb_{hex}"))
}

fn mode(options: &mut Options<'_>) -> Mode {
    let mode = options.word("mode", &["tail", "read"]).doc("Whether to wait for more at the end of a file.");
    let is_read = mode.default("tail".to_owned()) == "read";
    let start = options
        .word("start_position", &["beginning", "end"])
        .doc("Where to start in files that are there at the start.");
    let from_beginning = start.default("end".to_owned()) == "beginning";
    let ignore_older =
        options.duration("ignore_older").doc("Files that did not change for so long are left alone.").optional();
    let exit =
        options.boolean("exit_after_read").doc("Whether to end when all files are read (read mode).").default(false);
    let check_archives = options
        .boolean("check_archive_validity")
        .doc("Whether an archive is tested before it is read (read mode).")
        .default(false);
    let action = options
        .word("file_completed_action", &["delete", "log", "log_and_delete"])
        .doc("What is done with a file that was read (read mode).")
        .default("delete".to_owned());
    let log =
        options.string("file_completed_log_path").doc("File that takes the paths of files that were read.").optional();
    if !is_read {
        if exit {
            options
                .invalid("exit_after_read", "exit_after_read needs mode => \"read\": a file that is tailed has no end");
        }
        return Mode::Tail { from_beginning, ignore_older };
    }
    let logs = action != "delete";
    if logs && log.is_none() {
        options.invalid(
            "file_completed_action",
            format!("file_completed_action => \"{action}\" needs `file_completed_log_path`"),
        );
    }
    let completed = Completed { log: log.filter(|_| logs).map(PathBuf::from), delete: action != "log" };
    Mode::Read { completed, exit, check_archives }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::compiled;

    fn refused(options: &str) -> String {
        compiled(&format!("input {{ file {{ {options} }} }}")).err().unwrap_or_default()
    }

    #[test]
    fn positions_are_kept_where_logstash_keeps_them() {
        let path = default_sincedb(Path::new("/data"), &["/a/*.log".to_owned(), "/b".to_owned()]);
        // echo -n '/a/*.log,/b' | md5sum
        assert_eq!(path, Path::new("/data/plugins/inputs/file/.sincedb_044f1146c197a4ddb092f92be4504b05"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (options, word) in [
            ("", "path"),
            ("path => 'logs/*'", "absolute"),
            (&format!("path => '/a' sincedb_path => '{}'", folder.path().display()), "directory"),
            ("path => '/a' exit_after_read => true", "exit_after_read"),
            ("path => '/a' mode => read file_completed_action => log", "file_completed_log_path"),
            ("path => '/a' close_older => '1 fortnight'", "duration"),
            ("path => '/a' delimiter => ''", "delimiter"),
            ("path => '/a' max_open_files => 0", "max_open_files"),
            ("path => '/a' mode => follow", "tail"),
        ] {
            assert!(refused(options).contains(word), "{options}: {}", refused(options));
        }
        assert_eq!(refused("path => '/a' ignore_older => '1.5 d' sincedb_clean_after => 3"), "");
    }
}
