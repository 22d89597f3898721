//! Options on what an event becomes: its action, its id and the other members of its line, and how updates change a
//! document.

use std::sync::Arc;

use super::super::action::{ActionOption, DocumentId, Kind};
use super::super::actions::Parts;
use super::super::flavor::Flavor;
use super::super::json_text::{JsonText, quoted};
use super::super::target::Target;
use super::super::update::{Script, Update};
use crate::event::{FieldRef, Template};
use crate::plugins::Options;
use crate::plugins::lasting_ids::LastingIds;

/// The `document_id` that is no template.
const AUTO: &str = "auto";

/// The options as they were given, before it is known where events go.
pub(super) struct Documents {
    action: Option<Template>,
    document_id: Option<DocumentId>,
    routing: Option<Template>,
    parent: Option<Template>,
    join_field: Option<FieldRef>,
    pipeline: Option<Template>,
    version: Option<Template>,
    version_type: Option<String>,
    document_type: Option<Template>,
    update: Update,
}

/// The `index` option.
pub(super) struct Index {
    /// It is given.
    pub is_set: bool,
    /// Its value, unless that is wrong.
    pub template: Option<Template>,
}

/// Reads `index`.
pub(super) fn index(options: &mut Options<'_>) -> Index {
    let template = options
        .template("index")
        .doc("Where events go. Unless given: a data stream, the alias of managed indexes, or an index for each day.")
        .optional();
    Index { is_set: options.is_set("index"), template }
}

/// Reads the others.
pub(super) fn read(options: &mut Options<'_>, flavor: Flavor) -> Documents {
    let action = options
        .template("action")
        .doc("What to do with the event: index, create, update or delete. Index unless given, create in a data stream.")
        .optional();
    let document_id = document_id(options);
    let routing = options.template("routing").doc("Routing of the document.").optional();
    let parent = options.template("parent").doc("Parent of the document.").optional();
    let join_field = options
        .field("join_field")
        .doc("Field that holds the name of a relation to `parent`; in the document it holds both, and the routing is the parent.")
        .optional();
    let pipeline = options.template("pipeline").doc("Ingest pipeline; left out when it comes to nothing.").optional();
    let version = options.template("version").doc("Version of the document.").optional();
    let version_type = options
        .word("version_type", &["internal", "external", "external_gt", "external_gte", "force"])
        .doc("How the server compares versions.")
        .optional();
    let document_type = if flavor.is_elastic() {
        options
            .template("document_type")
            .doc("`_type`, for servers of version 7.")
            .deprecated("remove it: document types are gone")
            .optional()
    } else {
        None
    };
    let update = update(options);
    if join_field.is_some() && parent.is_none() {
        options.warn("join_field", "no-effect", "`join_field` has no effect without `parent`");
    }
    Documents {
        action,
        document_id,
        routing,
        parent,
        join_field,
        pipeline,
        version,
        version_type,
        document_type,
        update,
    }
}

fn document_id(options: &mut Options<'_>) -> Option<DocumentId> {
    let template = options
        .template("document_id")
        .doc(
            "`_id` of the document; the server makes one unless given. `auto` (Spillway): an id that the event keeps \
             over retries, restarts and replays, so that it never becomes two documents.",
        )
        .optional()?;
    if template.as_constant().is_none_or(|id| id != AUTO) {
        return Some(DocumentId::Given(template));
    }
    options.context().commons.get::<LastingIds>().want();
    Some(DocumentId::Lasting)
}

fn update(options: &mut Options<'_>) -> Update {
    let upsert = options
        .template("upsert")
        .doc("JSON of the document that an update makes when it is missing.")
        .optional()
        .filter(|upsert| !is_empty(upsert));
    let doc_as_upsert =
        options.boolean("doc_as_upsert").doc("An update makes the document when it is missing.").default(false);
    let scripted_upsert =
        options.boolean("scripted_upsert").doc("The script makes the document when it is missing.").default(false);
    let script = options.template("script").doc("Script of an update, or its id, by `script_type`.").optional();
    let script_type = options
        .word("script_type", &["inline", "indexed", "file"])
        .doc("Whether `script` is the source, the id of a stored script, or a file on the server.")
        .default("inline".to_owned());
    let language = options
        .string("script_lang")
        .doc("Language of the script; left out when empty.")
        .default("painless".to_owned());
    let variable = options
        .string("script_var_name")
        .doc("What the script calls the event in its `params`.")
        .default("event".to_owned());
    let retry_on_conflict = options.integer("retry_on_conflict").doc("Sent with updates.").default(1);
    if doc_as_upsert && scripted_upsert {
        options.invalid("scripted_upsert", "`doc_as_upsert` and `scripted_upsert` are mutually exclusive");
    }
    let script = script.filter(|script| !is_empty(script)).map(|script| Script {
        text: JsonText::new(script),
        member: match script_type.as_str() {
            "indexed" => "id",
            "file" => "file",
            _ => "inline",
        },
        language: (!language.is_empty()).then(|| quoted(&language)),
        variable: quoted(&variable),
    });
    if scripted_upsert && script.is_none() {
        options.warn("scripted_upsert", "no-effect", "`scripted_upsert` has no effect without `script`");
    }
    Update { retry_on_conflict, doc_as_upsert, scripted_upsert, upsert, script }
}

fn is_empty(template: &Template) -> bool {
    template.as_constant().is_some_and(|text| text.is_empty())
}

impl Documents {
    /// Whether the action is left to the plugin, or said to be the one that data streams take.
    pub fn creates(&self) -> bool {
        self.action.as_ref().is_none_or(|action| action.as_constant().is_some_and(|action| action == "create"))
    }

    /// What actions are made of. `None` when the action is wrong.
    pub fn parts(self, options: &mut Options<'_>, target: Arc<Target>, in_stream: bool) -> Option<Parts> {
        let default = || Template::constant(if in_stream { Kind::Create } else { Kind::Index }.name());
        let action = ActionOption::new(self.action.clone().unwrap_or_else(default));
        let action = action.map_err(|message| options.invalid("action", message)).ok()?;
        if action.is_always(Kind::Update) && self.document_id.is_none() {
            options.invalid("action", "`action => update` needs a document_id to know which document to update");
        }
        let finds_nothing = action.is_always(Kind::Delete) || (action.is_always(Kind::Update) && !self.update.makes());
        if finds_nothing && matches!(self.document_id, Some(DocumentId::Lasting)) {
            options.invalid(
                "document_id",
                "`document_id => auto` names a new document: there is none to update or delete under that id",
            );
        }
        self.check_version(options, &action);
        Some(Parts {
            action,
            target,
            document_id: self.document_id,
            routing: self.routing,
            parent: self.parent,
            join_field: self.join_field,
            pipeline: self.pipeline,
            document_type: self.document_type,
            version: self.version,
            version_type: self.version_type,
            update: self.update,
        })
    }

    fn check_version(&self, options: &mut Options<'_>, action: &ActionOption) {
        let Some(kind) = self.version_type.as_deref().filter(|kind| kind.starts_with("external")) else { return };
        if self.version.is_none() {
            options.invalid(
                "version_type",
                format!("`version_type => {kind}` requires the presence of a version number: set `version`"),
            );
        }
        if let Some(action) = [Kind::Create, Kind::Update].into_iter().find(|kind| action.is_always(*kind)) {
            let action = action.name();
            options
                .invalid("version_type", format!("`version_type => {kind}` is not supported by the {action} action"));
        }
    }
}
