//! `plain-secret`: passwords that stand in files which others can read.

use std::os::unix::fs::PermissionsExt;

use super::flow::plugins;
use crate::config::ast::{Config, LiteralKind, PluginBlock};
use crate::config::diagnostic::{Diagnostic, Diagnostics};
use crate::config::source::Sources;

const SECRETS: &[&str] = &["api_key", "cloud_auth", "secret_access_key", "ssl_key_passphrase", "token"];

pub(super) fn check(config: &Config, sources: &Sources, diagnostics: &mut Diagnostics) {
    config.inputs.iter().for_each(|plugin| of_plugin(plugin, sources, diagnostics));
    for section in [&config.filters, &config.outputs] {
        plugins(section, &mut |plugin| of_plugin(plugin, sources, diagnostics));
    }
}

fn of_plugin(plugin: &PluginBlock, sources: &Sources, diagnostics: &mut Diagnostics) {
    for setting in &plugin.settings {
        let name = setting.name.as_str();
        let is_secret = name == "password" || name.ends_with("_password") || SECRETS.contains(&name);
        let is_written = matches!(&setting.value.kind, LiteralKind::String(text) if !text.is_empty())
            && !sources.text(setting.value.span).contains("${");
        let file = sources.get(setting.value.span.source).map(|source| source.name.as_str()).unwrap_or_default();
        let others_read = std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o044 != 0);
        if is_secret && is_written && others_read {
            let message = format!("the value of `{name}` stands in a file that others can read");
            let note = Diagnostic::note("plain-secret", setting.name_span, message).label("a secret");
            diagnostics
                .push(note.help("take it from a variable, as in `${NAME}`, or let only the service read the file"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Language, Origin, Variables, load};

    fn found(mode: u32, password: &str) -> usize {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.conf");
        std::fs::write(
            &path,
            format!("input {{ stdin {{ }} }} output {{ elasticsearch {{ password => \"{password}\" }} }}"),
        )
        .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let variables = Variables::from_pairs([("PW", "x")]);
        let loaded = load(&Origin::Path(path.display().to_string()), &Language::default(), &variables);
        loaded.diagnostics.0.iter().filter(|d| d.code == "plain-secret").count()
    }

    #[test]
    fn a_password_in_a_file_for_all_is_told() {
        assert_eq!(found(0o644, "hunter2"), 1);
        assert_eq!(found(0o600, "hunter2"), 0);
        assert_eq!(found(0o644, "${PW}"), 0);
    }
}
