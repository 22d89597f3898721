//! Where an event goes: a fixed path, or one made from its fields that cannot leave its fixed part.

use std::path::PathBuf;

use crate::event::{Event, Template};
use crate::plugins::Options;

/// The option `path`, and the file for events that have no usable path.
pub(super) struct Target {
    path: Path,
    failure: PathBuf,
}

enum Path {
    Fixed(PathBuf),
    /// `root` holds the directories before the first one with a template.
    PerEvent {
        template: Template,
        root: String,
    },
}

impl Target {
    /// Declares and reads `path` and `filename_failure`.
    pub fn read(options: &mut Options<'_>) -> Self {
        let template =
            options.template("path").doc("File to write; may hold %{…}, but not in its first directory.").required();
        let failure = options
            .string("filename_failure")
            .doc("Name of the file for events whose path leaves the fixed part of `path`.")
            .default("_filepath_failures".to_owned());
        let source = template.source().as_str();
        let root = fixed_directories(source);
        if template.as_constant().is_some() {
            if options.is_set("path") && source.is_empty() {
                options.invalid("path", "the path of the file is empty");
            }
            let path = PathBuf::from(source);
            let failure = path.with_file_name(failure);
            return Self { path: Path::Fixed(path), failure };
        }
        if root.is_empty() {
            options.invalid("path", "the first directory of the path must not be dynamic: start it with a fixed one");
        }
        let failure = PathBuf::from(format!("{root}/{failure}"));
        Self { path: Path::PerEvent { template, root }, failure }
    }

    /// The path, when it is the same for all events.
    pub fn fixed(&self) -> Option<&PathBuf> {
        match &self.path {
            Path::Fixed(path) => Some(path),
            Path::PerEvent { .. } => None,
        }
    }

    /// The file for events that have no usable path.
    pub fn failure(&self) -> &PathBuf {
        &self.failure
    }

    /// Writes what the template gives for this event, to be resolved when it is new.
    pub fn render(&self, event: &Event, out: &mut Vec<u8>) {
        if let Path::PerEvent { template, .. } = &self.path {
            template.render_into(event, out);
        }
    }

    /// The path that a rendered template leads to, with `..` taken out; `None` when it is not below the root.
    pub fn resolve(&self, rendered: &str) -> Option<PathBuf> {
        let Path::PerEvent { root, .. } = &self.path else { return None };
        let path = normalized(rendered);
        let below = path.strip_prefix(root.as_str())?.strip_prefix('/')?;
        (!below.is_empty()).then(|| PathBuf::from(&path))
    }
}

/// The leading directories of a path template that hold no `%{`; empty when the first one does.
fn fixed_directories(source: &str) -> String {
    let dynamic = source.find("%{").unwrap_or(source.len());
    let end = source.get(..dynamic).and_then(|fixed| fixed.rfind('/')).unwrap_or(0);
    normalized(source.get(..end).unwrap_or_default())
}

/// Takes out `.`, `..` and double slashes, without a look at the disk.
fn normalized(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            ("..", None) if absolute => {}
            (part, _) => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EscapeStyle;

    fn target(path: &str) -> Target {
        let template = Template::compile(path, EscapeStyle::None).unwrap();
        Target { path: Path::PerEvent { template, root: fixed_directories(path) }, failure: PathBuf::new() }
    }

    #[test]
    fn a_path_cannot_leave_its_fixed_directories() {
        for (template, rendered, expected) in [
            ("/logs/%{app}.log", "/logs/ok.log", Some("/logs/ok.log")),
            ("/logs/%{app}.log", "/logs/sub/dir.log", Some("/logs/sub/dir.log")),
            ("/logs/%{app}.log", "/logs/a/../../logs/back.log", Some("/logs/back.log")),
            ("/logs/%{app}.log", "/logs/../../evil.log", None),
            ("/logs/%{app}.log", "/logs/../logs2/x.log", None),
            ("/logs/%{app}", "/logs/x/..", None),
            ("/logs/app-%{app}", "/logs/app-x", Some("/logs/app-x")),
            ("logs/%{app}", "logs/../../x", None),
            ("logs/%{app}", "logs/./x//y", Some("logs/x/y")),
        ] {
            let resolved = target(template).resolve(rendered);
            assert_eq!(resolved.as_deref(), expected.map(std::path::Path::new), "{rendered}");
        }
    }

    #[test]
    fn the_fixed_directories_end_before_the_first_template() {
        for (path, root) in [
            ("/var/log/%{a}/%{b}.log", "/var/log"),
            ("/var/log/x-%{+YYYY/MM}.log", "/var/log"),
            ("/%{x}/a", ""),
            ("%{x}/a", ""),
            ("x-%{x}", ""),
        ] {
            assert_eq!(fixed_directories(path), root, "{path}");
        }
    }
}
