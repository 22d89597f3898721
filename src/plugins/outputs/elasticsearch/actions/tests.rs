//! The lines that events become.

use super::super::json_text::quoted;
use super::super::update::Script;
use super::*;

fn template(text: &str) -> Template {
    Template::compile(text, EscapeStyle::None).unwrap()
}

fn named(index: &str, checks: bool) -> Arc<Target> {
    Arc::new(Target::named(template(index), checks))
}

fn parts(action: &str, index: &str) -> Parts {
    Parts {
        action: ActionOption::new(template(action)).unwrap(),
        target: named(index, true),
        document_id: None,
        routing: None,
        parent: None,
        join_field: None,
        pipeline: None,
        document_type: None,
        version: None,
        version_type: None,
        update: Update { retry_on_conflict: 1, ..Update::default() },
    }
}

fn updating(update: Update) -> Parts {
    let update = Update { retry_on_conflict: 1, ..update };
    Parts { document_id: Some(DocumentId::Given(template("%{id}"))), update, ..parts("%{do}", "a") }
}

fn event(pairs: &[(&'static str, &'static str)]) -> Event {
    let mut event = Event::default();
    for (name, value) in pairs {
        event.fields_mut().insert(*name, *value);
    }
    event
}

fn lines(parts: Parts, event: &Event) -> Result<String, Unmapped> {
    let mut out = Vec::new();
    let written = Actions::new(parts).write(0, event, 9, &mut out);
    assert!(written.is_ok() || out.is_empty(), "nothing stays of an event that cannot be mapped");
    written.map(|_| String::from_utf8(out).unwrap())
}

#[test]
fn lines_of_each_action() {
    let e = event(&[("id", "1"), ("n", "é\"")]);
    let doc = "{\"id\":\"1\",\"n\":\"é\\\"\"}";
    let plain = lines(parts("index", "app-logs"), &e).unwrap();
    assert_eq!(plain, format!("{{\"index\":{{\"_id\":null,\"_index\":\"app-logs\",\"routing\":null}}}}\n{doc}\n"));
    let with_id =
        |action: &str| Parts { document_id: Some(DocumentId::Given(template("%{id}"))), ..parts(action, "a") };
    let delete = lines(with_id("delete"), &e).unwrap();
    assert_eq!(delete, "{\"delete\":{\"_id\":\"1\",\"_index\":\"a\",\"routing\":null}}\n");
    let update = Update { retry_on_conflict: 1, doc_as_upsert: true, ..Update::default() };
    let update = lines(Parts { update, ..with_id("update") }, &e).unwrap();
    let line = "{\"update\":{\"_id\":\"1\",\"_index\":\"a\",\"routing\":null,\"retry_on_conflict\":1}}";
    assert_eq!(update, format!("{line}\n{{\"doc\":{doc},\"doc_as_upsert\":true}}\n"));
}

#[test]
fn unmapped_events_leave_nothing_behind() {
    let e = event(&[("app", "%{x}"), ("op", "bananas")]);
    assert_eq!(lines(parts("index", "%{none}-logs"), &e), Err(Unmapped::Index("%{none}-logs".into())));
    assert_eq!(lines(parts("index", "%{app}-logs"), &e), Err(Unmapped::Index("%{x}-logs".into())));
    assert_eq!(lines(parts("%{op}", "a"), &e), Err(Unmapped::Action("bananas".into())));
    assert_eq!(lines(parts("%{none}", "a"), &e), Err(Unmapped::Action("%{none}".into())));
    let literal = lines(Parts { target: named("%{none}", false), ..parts("index", "") }, &e).unwrap();
    assert!(literal.contains("\"_index\":\"%{none}\""));
}

#[test]
fn update_options_count_whatever_the_form_of_the_action() {
    let e = event(&[("id", "1"), ("do", "update")]);
    let doc = "{\"id\":\"1\",\"do\":\"update\"}";
    let script = |language: &str| Script {
        text: JsonText::new(template("ctx.n += %{id}")),
        member: "inline",
        language: (!language.is_empty()).then(|| quoted(language)),
        variable: quoted("e"),
    };
    let upsert = || Some(template("{ \"first\":\n \"%{id}\" }"));
    let scripted =
        format!("{{\"script\":{{\"params\":{{\"e\":{doc}}},\"inline\":\"ctx.n += 1\",\"lang\":\"painless\"}}");
    for (update, second) in [
        (Update { upsert: upsert(), ..Update::default() }, format!("{{\"doc\":{doc},\"upsert\":{{\"first\":\"1\"}}}}")),
        (
            Update { upsert: upsert(), doc_as_upsert: true, ..Update::default() },
            format!("{{\"doc\":{doc},\"doc_as_upsert\":true}}"),
        ),
        (
            Update { script: Some(script("painless")), scripted_upsert: true, upsert: upsert(), ..Update::default() },
            format!("{scripted},\"scripted_upsert\":true,\"upsert\":{{}}}}"),
        ),
        (
            Update { script: Some(script("painless")), doc_as_upsert: true, ..Update::default() },
            format!("{scripted},\"upsert\":{doc}}}"),
        ),
        (
            Update { script: Some(script("")), ..Update::default() },
            format!("{{\"script\":{{\"params\":{{\"e\":{doc}}},\"inline\":\"ctx.n += 1\"}}}}"),
        ),
    ] {
        let lines = lines(updating(update), &e).unwrap();
        let (first, rest) = lines.split_once('\n').unwrap();
        assert_eq!(first, "{\"update\":{\"_id\":\"1\",\"_index\":\"a\",\"routing\":null,\"retry_on_conflict\":1}}");
        assert_eq!(rest, format!("{second}\n"));
    }
}

#[test]
fn an_upsert_that_is_no_object_makes_no_action() {
    let e = event(&[("id", "1"), ("do", "update")]);
    for text in ["{\"a\":%{none}}", "[1]", ""] {
        let update = Update { upsert: Some(template(text)), ..Update::default() };
        assert_eq!(lines(updating(update), &e), Err(Unmapped::Upsert(text.into())), "{text}");
    }
}

#[test]
fn parents_joins_and_versions() {
    let e = event(&[("rel", "answer"), ("pid", "p1"), ("v", "42")]);
    let parent = || Some(template("%{pid}"));
    let line = lines(Parts { parent: parent(), routing: Some(template("r")), ..parts("index", "a") }, &e).unwrap();
    assert!(
        line.starts_with("{\"index\":{\"_id\":null,\"_index\":\"a\",\"routing\":\"r\",\"parent\":\"p1\"}}\n"),
        "{line}"
    );
    let field = FieldRef::parse("rel", EscapeStyle::None).unwrap();
    let line = lines(Parts { parent: parent(), join_field: Some(field), ..parts("index", "a") }, &e).unwrap();
    let document = "{\"rel\":{\"name\":\"answer\",\"parent\":\"p1\"},\"pid\":\"p1\",\"v\":\"42\"}\n";
    assert_eq!(line, format!("{{\"index\":{{\"_id\":null,\"_index\":\"a\",\"routing\":\"p1\"}}}}\n{document}"));
    assert_eq!(e.fields().get("rel").and_then(Value::as_str), Some("answer"));
    let versioned =
        Parts { version: Some(template("%{v}")), version_type: Some("external".to_owned()), ..parts("index", "a") };
    let line = lines(versioned, &e).unwrap();
    assert!(line.contains("\"routing\":null,\"version\":\"42\",\"version_type\":\"external\"}}"), "{line}");
    let field = FieldRef::parse("[pid][x]", EscapeStyle::None).unwrap();
    let wrong = lines(Parts { parent: parent(), join_field: Some(field), ..parts("index", "a") }, &e);
    assert!(matches!(wrong, Err(Unmapped::Join(_))), "{wrong:?}");
}

#[test]
fn metadata_fills_roles_whose_option_is_unset() {
    let mut e = event(&[("k", "z")]);
    e.metadata_mut().insert("target_ingest_pipeline", "beat-%{k}");
    let line = lines(parts("index", "a"), &e).unwrap();
    assert!(line.starts_with("{\"index\":{\"_id\":null,\"_index\":\"a\",\"routing\":null,\"pipeline\":\"beat-z\"}}"));
    let control: Map = [
        ("id", Value::from("i1")),
        ("index", Value::from("from-meta")),
        ("routing", Value::from("no")),
        ("version", Value::from(3_i64)),
    ]
    .into_iter()
    .collect();
    e.metadata_mut().insert("_ingest_document", control);
    let line = lines(Parts { routing: Some(template("fixed")), ..parts("index", "a") }, &e).unwrap();
    let rest = "\"routing\":\"fixed\",\"pipeline\":\"beat-z\",\"version\":3}}";
    assert!(line.starts_with(&format!("{{\"index\":{{\"_id\":\"i1\",\"_index\":\"a\",{rest}")), "{line}");
    // An index that nobody chose gives way, the alias of managed indexes does not.
    let target = Arc::new(Target::dated(template("dated"), true));
    let line = lines(Parts { target: target.clone(), ..parts("index", "") }, &e).unwrap();
    assert!(line.contains("\"_index\":\"from-meta\""), "{line}");
    target.use_alias("logstash");
    let line = lines(Parts { target, ..parts("index", "") }, &e).unwrap();
    assert!(line.contains("\"_index\":\"logstash\""), "{line}");
}

#[test]
fn ids_are_generated_where_an_ingest_pipeline_may_drop_events() {
    let mut out = Vec::new();
    let with_pipeline = || Parts { pipeline: Some(template("geo")), ..parts("index", "a") };
    let actions = Actions::new(with_pipeline());
    let first = actions.write(0, &event(&[]), 9, &mut out).unwrap().id.unwrap();
    let second = actions.write(1, &event(&[]), 9, &mut out).unwrap().id.unwrap();
    assert_ne!(first, second);
    let learning = Actions::new(parts("index", "%{i}"));
    let e = event(&[("i", "logs")]);
    assert_eq!(learning.write(0, &e, 9, &mut out).unwrap().id, None);
    learning.generate_ids_for("logs".into());
    assert!(learning.write(0, &e, 9, &mut out).unwrap().id.is_some());
    assert_eq!(learning.write(0, &event(&[("i", "other")]), 9, &mut out).unwrap().id, None);
}
