//! The second line of an update: the document or the script, and what is made of a document that is missing.

use super::action::Unmapped;
use super::json_text::{JsonText, write_name};
use crate::event::{Event, Template};

/// The options of updates.
#[derive(Default)]
pub(super) struct Update {
    /// `retry_on_conflict`: sent in the action line.
    pub retry_on_conflict: i64,
    /// A missing document is made of the event.
    pub doc_as_upsert: bool,
    /// A missing document is made by the script.
    pub scripted_upsert: bool,
    /// JSON text of the document to make when it is missing.
    pub upsert: Option<Template>,
    /// What changes the document, in place of the event's fields.
    pub script: Option<Script>,
}

/// A script on the server.
pub(super) struct Script {
    /// Its source, its id or its file, by `script_type`.
    pub text: JsonText,
    /// `inline`, `id` or `file`.
    pub member: &'static str,
    /// `script_lang` as JSON; none for an empty one.
    pub language: Option<Vec<u8>>,
    /// `script_var_name` as JSON: what the event is called in the parameters.
    pub variable: Vec<u8>,
}

impl Update {
    /// Whether a document that is missing can come of it.
    pub fn makes(&self) -> bool {
        self.doc_as_upsert || self.scripted_upsert || self.upsert.is_some()
    }

    /// Appends the line. `document` appends the event as JSON.
    pub fn write(
        &self,
        event: &Event,
        document: impl Fn(&mut Vec<u8>) -> Result<(), Unmapped>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unmapped> {
        match &self.script {
            None => {
                out.extend_from_slice(b"{\"doc\":");
                document(out)?;
            }
            Some(script) => {
                out.extend_from_slice(b"{\"script\":{\"params\":{");
                out.extend_from_slice(&script.variable);
                out.push(b':');
                document(out)?;
                out.push(b'}');
                write_name(script.member, out);
                script.text.write(event, out);
                if let Some(language) = &script.language {
                    write_name("lang", out);
                    out.extend_from_slice(language);
                }
                out.push(b'}');
            }
        }
        self.write_upsert(event, document, out)?;
        out.push(b'}');
        Ok(())
    }

    fn write_upsert(
        &self,
        event: &Event,
        document: impl Fn(&mut Vec<u8>) -> Result<(), Unmapped>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unmapped> {
        let is_scripted = self.script.is_some();
        if is_scripted && self.scripted_upsert {
            out.extend_from_slice(b",\"scripted_upsert\":true,\"upsert\":{}");
        } else if self.doc_as_upsert && is_scripted {
            write_name("upsert", out);
            document(out)?;
        } else if self.doc_as_upsert {
            out.extend_from_slice(b",\"doc_as_upsert\":true");
        } else if let Some(upsert) = &self.upsert {
            let text = upsert.render(event);
            // Written anew: a line feed between its members would end the line.
            let parsed = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text);
            let json = parsed.and_then(|map| serde_json::to_vec(&map)).map_err(|_| Unmapped::Upsert(text.clone()))?;
            write_name("upsert", out);
            out.extend_from_slice(&json);
        }
        Ok(())
    }
}
