//! How options are read where no single plugin shows it.

use super::*;

/// Reads the first input of a configuration with `build`.
fn built<T>(config: &str, build: fn(&mut Options<'_>) -> T) -> (Option<T>, Diagnostics) {
    let loaded = crate::config::parse(config);
    let context = Context::alone("a");
    let mut diagnostics = Diagnostics::default();
    let built = Options::new(&loaded.config.inputs[0], &context, &mut diagnostics).finish_with(build);
    (built.plugin, diagnostics)
}

#[test]
fn a_plugin_that_breaks_over_its_options_is_a_mistake_at_its_block() {
    let (none, diagnostics) = built("input { stdin { x => 1 } }", |options| -> i64 {
        let x = options.integer("x").required();
        [x][usize::try_from(x).unwrap()]
    });
    assert_eq!(none, None);
    let said: Vec<_> = diagnostics.0.iter().map(|d| (d.code, d.message.as_str())).collect();
    assert_eq!(said, [("plugin-broke", "the stdin input broke while reading its options")]);
    assert!(diagnostics.has_errors());
}

#[test]
fn an_empty_list_is_a_value_where_a_list_is_wanted_and_none_where_one_value_is() {
    fn build(options: &mut Options<'_>) -> (Vec<String>, String) {
        let list = options.strings("a").default(vec!["usual".to_owned()]);
        (list, options.string("b").default("usual".to_owned()))
    }
    let (read, diagnostics) = built("input { stdin { a => [] b => [] } }", build);
    assert_eq!(read, Some((Vec::new(), "usual".to_owned())));
    assert!(!diagnostics.has_errors());
}

#[test]
fn a_password_is_text() {
    fn build(options: &mut Options<'_>) -> bool {
        options.password("p").optional().is_some()
    }
    for (given, is_right) in [("'1'", true), ("abc", true), ("1", false), ("1.5", false), ("['a', 'b']", false)] {
        let (_, diagnostics) = built(&format!("input {{ stdin {{ p => {given} }} }}"), build);
        assert_eq!(!diagnostics.has_errors(), is_right, "{given}");
    }
}

#[test]
fn an_option_that_is_deprecated_and_required_is_both() {
    fn build(options: &mut Options<'_>) -> String {
        options.string("old").deprecated("use `new`").required()
    }
    let codes = |config: &str| built(config, build).1.0.iter().map(|d| d.code).collect::<Vec<_>>();
    assert_eq!(codes("input { stdin { } }"), ["missing-option"]);
    assert_eq!(codes("input { stdin { old => \"x\" } }"), ["deprecated-option"]);
}

#[test]
fn what_stands_where_a_password_should_is_not_told() {
    fn build(options: &mut Options<'_>) -> bool {
        options.password("pin").optional().is_some()
    }
    let (_, diagnostics) = built(r#"input { stdin { pin => ["hunter2", "b"] } }"#, build);
    let said: Vec<_> = diagnostics.0.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(said, ["the option `pin` of the stdin input: Expected one text"]);
}
