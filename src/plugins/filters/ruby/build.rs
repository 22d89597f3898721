//! The options of `ruby`, and what is wrong with a script, told at its line.

use super::{Ruby, Work};
use crate::event::{Map, Value};
use crate::plugins::ruby::{Scripts, report};
use crate::plugins::{Filter, Options};

pub(super) fn build(options: &mut Options<'_>) -> Box<dyn Filter> {
    let code =
        options.string("code").doc("Ruby code; `event` is the event, `new_event_block` takes new ones.").optional();
    let init = options.string("init").doc("Ruby code that is run once, before the first event.").optional();
    let path = options.path("path").doc("A file with a `filter` method, instead of `code`.").optional();
    let parameters = options.hash("script_params").doc("What the `register` method of the file is given.").optional();
    let tag =
        options.string("tag_on_exception").doc("Tag of an event whose script raised.").default("_rubyexception".into());
    let tag_with_message = options
        .value("tag_with_exception_message")
        .doc("Any value adds a tag with the exception's message, `false` as well.")
        .optional();
    if tag_with_message == Some(Value::Bool(false))
        || tag_with_message.as_ref().and_then(Value::as_str) == Some("false")
    {
        let message = "any value switches `tag_with_exception_message` on, as in Logstash: leave the option out";
        options.warn("tag_with_exception_message", "ruby-tag", message);
    }
    let mut source = Map::new();
    source.insert("id", &*options.context().plugin_id);
    let work = match (code, path) {
        (None, None) => {
            let message = "the ruby filter needs `code` or `path`: without either it does nothing";
            options.warn("", "ruby-without-code", message);
            Work::Nothing
        }
        (Some(_), Some(_)) => {
            let message = "the ruby filter takes `code` or `path`: with both, every event is tagged, as in Logstash";
            options.warn("path", "ruby-code-and-path", message);
            Work::Refused
        }
        (Some(code), None) => {
            source.insert("code", code);
            if let Some(init) = init {
                source.insert("init", init);
            }
            load(source, options)
        }
        (None, Some(path)) => {
            source.insert("path", path.to_string_lossy().as_ref());
            source.insert("script_params", parameters.unwrap_or_default().into_iter().collect::<Map>());
            load(source, options)
        }
    };
    Box::new(Ruby { work, tag, tag_with_message: tag_with_message.is_some(), context: options.context().clone() })
}

fn load(source: Map, options: &mut Options<'_>) -> Work {
    let context = options.context();
    let scripts = context.commons.get::<Scripts>();
    let loaded = scripts.load(source.clone(), context);
    match loaded {
        Ok(script) => Work::Script(Box::new(script)),
        Err(fault) => {
            report(options, &source, fault);
            Work::Nothing
        }
    }
}
