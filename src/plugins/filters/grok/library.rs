//! Named patterns: a bundled set, and what files and options add to it. Later definitions replace earlier ones.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::plugins::Ecs;

const LEGACY: &str = include_str!("patterns/legacy");
const ECS_V1: &str = include_str!("patterns/ecs-v1");

/// Patterns by name.
#[derive(Clone, Debug, Default)]
pub struct Library(HashMap<String, String>);

/// A pattern file that is there and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the pattern file {}: {error}", path.display())]
pub struct Unreadable {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Library {
    /// The bundled set: the old flat field names, or those of ECS.
    pub fn bundled(ecs: Ecs) -> Self {
        let mut library = Self::default();
        library.read(if ecs.is_disabled() { LEGACY } else { ECS_V1 });
        library
    }

    /// Adds the definitions of a pattern file's text: a name, blanks, and the rest of the line, its own blanks
    /// included. Lines that start with `#` are comments.
    pub fn read(&mut self, text: &str) {
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line).trim_start();
            if line.starts_with('#') {
                continue;
            }
            let Some((name, pattern)) = line.split_once(|c: char| c.is_ascii_whitespace()) else { continue };
            let pattern = pattern.trim_start();
            if !pattern.is_empty() {
                self.define(name, pattern);
            }
        }
    }

    /// Defines one pattern.
    pub fn define(&mut self, name: &str, pattern: &str) {
        self.0.insert(name.to_owned(), pattern.to_owned());
    }

    /// Adds what a directory, file or glob holds. One that is not there adds nothing; directories inside a directory
    /// are passed over.
    pub fn read_path(&mut self, path: &str, files_glob: &str) -> Result<(), Unreadable> {
        let pattern = if Path::new(path).is_dir() {
            format!("{}/{files_glob}", glob::Pattern::escape(path.trim_end_matches('/')))
        } else {
            path.to_owned()
        };
        let found = glob::glob(&pattern).into_iter().flatten().filter_map(Result::ok);
        for path in found.filter(|path| !path.is_dir()) {
            match std::fs::read(&path) {
                Ok(bytes) => self.read(&String::from_utf8_lossy(&bytes)),
                Err(error) => return Err(Unreadable { path, error }),
            }
        }
        Ok(())
    }

    /// The pattern of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_pattern_file() {
        let mut library = Library::default();
        library.read("# comment\n  # too\n\nA  x  y  \r\n\tB\t[0-9]+\nALONE\nALONE2 \nA z\n#C d\nREST  e \t");
        let mut all: Vec<_> = library.0.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str())).collect();
        all.sort_unstable();
        assert_eq!(all, [("A", "z"), ("B", "[0-9]+"), ("REST", "e \t")]);
    }

    #[test]
    fn directories_files_and_globs() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("a.pat"), "A 1\nB 1").unwrap();
        std::fs::write(path("b.pat"), "B 2").unwrap();
        std::fs::write(path("c.txt"), "C 3").unwrap();
        std::fs::create_dir(path("inner.pat")).unwrap();
        std::fs::write(path("inner.pat/d"), "D 4").unwrap();
        let names = |given: &str, files_glob: &str| {
            let mut library = Library::default();
            library.read_path(given, files_glob).unwrap();
            let mut all: Vec<String> = library.0.iter().map(|(name, pattern)| format!("{name}{pattern}")).collect();
            all.sort_unstable();
            all.concat()
        };
        let folder = directory.path().to_string_lossy().into_owned();
        assert_eq!(names(&folder, "*"), "A1B2C3");
        assert_eq!(names(&format!("{folder}/"), "*.txt"), "C3");
        assert_eq!(names(&path("*.pat"), "*"), "A1B2");
        assert_eq!(names(&path("c.txt"), "nothing"), "C3");
        assert_eq!(names(&path("missing"), "*"), "");
    }

    #[test]
    fn the_bundled_sets_are_whole() {
        let (legacy, ecs) = (Library::bundled(Ecs::Disabled), Library::bundled(Ecs::V8));
        assert_eq!((legacy.0.len(), ecs.0.len()), (317, 362));
        assert!(legacy.names().all(|name| ecs.get(name).is_some()));
    }
}
