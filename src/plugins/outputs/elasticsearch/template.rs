//! The index template that an output installs: which API, which name, which content.

use serde_json::{Map, Value as Json, json};

use super::default_template::{self, Form};
use super::lifecycle::Lifecycle;
use crate::plugins::elasticsearch::about::{Product, Server};
use crate::settings::Ecs;

/// Which API a template goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// As the server's version suggests.
    Auto,
    /// This one.
    Only(Form),
}

/// What the options say of templates.
pub(super) struct TemplateOptions {
    /// The user's own document.
    pub own: Option<Map<String, Json>>,
    /// `template_name`.
    pub name: Option<String>,
    /// A template of that name is replaced.
    pub overwrite: bool,
    /// `template_api`, or `legacy_template` of the `opensearch` output.
    pub api: Api,
    /// Decides on the default document.
    pub ecs: Ecs,
}

/// A template ready to be installed.
#[derive(Debug)]
pub(super) struct Template {
    /// Path of its API and name.
    pub path: String,
    /// Its document.
    pub body: Json,
}

impl TemplateOptions {
    /// The template for a server. `lifecycle` is given when indexes are managed. An error is a wrong configuration.
    pub fn template(&self, server: Server, lifecycle: Option<&Lifecycle>) -> Result<Template, String> {
        let form = self.form(server)?;
        let default_name = if self.ecs.is_disabled() { "logstash" } else { "ecs-logstash" };
        let name = self.name.as_deref().or(lifecycle.map(|l| l.alias.as_str())).unwrap_or(default_name);
        let api = match form {
            Form::Legacy => "_template",
            Form::Composable => "_index_template",
        };
        let plain_types = server.product == Product::OpenSearch || server.major < 8;
        let mut body = match &self.own {
            Some(own) => Json::Object(own.clone()),
            None => default_template::template(self.ecs, form, plain_types),
        };
        if let Some(lifecycle) = lifecycle {
            manage(&mut body, form, lifecycle).ok_or("the document of `template` has settings that are no object")?;
        }
        if server.product == Product::Serverless {
            without_shards(&mut body);
        }
        Ok(Template { path: format!("/{api}/{}", crate::plugins::elasticsearch::endpoint::encoded(name)), body })
    }

    fn form(&self, server: Server) -> Result<Form, String> {
        match (self.api, server.product) {
            (Api::Only(Form::Legacy), Product::Serverless) => {
                Err("`template_api => legacy` is not there on a serverless project: use composable".to_owned())
            }
            (Api::Only(form), _) => Ok(form),
            (Api::Auto, Product::Elasticsearch) if server.major < 8 => {
                tracing::warn!(target: super::LOG,
                    "`template_api => auto` resolved to `legacy` since the server is Elasticsearch 7; it will be \
                     `composable` with a newer one. Set `template_api` to choose yourself");
                Ok(Form::Legacy)
            }
            (Api::Auto, _) => Ok(Form::Composable),
        }
    }
}

/// Indexes that match the alias get its policy. `None` when what should hold settings is no object.
fn manage(body: &mut Json, form: Form, lifecycle: &Lifecycle) -> Option<()> {
    let members = body.as_object_mut()?;
    // What old documents call their pattern.
    if members.get("template").is_some_and(Json::is_string) {
        members.remove("template");
    }
    members.insert("index_patterns".to_owned(), json!(format!("{}-*", lifecycle.alias)));
    let flat = !members.contains_key("template") && (members.contains_key("settings") || form == Form::Legacy);
    let holder = if flat { members } else { object(members, "template")? };
    let settings = object(holder, "settings")?;
    settings.insert("index.lifecycle.name".to_owned(), json!(lifecycle.policy));
    settings.insert("index.lifecycle.rollover_alias".to_owned(), json!(lifecycle.alias));
    Some(())
}

/// An object member, made when it is missing.
fn object<'a>(members: &'a mut Map<String, Json>, name: &str) -> Option<&'a mut Map<String, Json>> {
    members.entry(name).or_insert_with(|| json!({})).as_object_mut()
}

/// Serverless projects decide on shards themselves, and refuse templates that name them.
fn without_shards(value: &mut Json) {
    match value {
        Json::Object(members) => {
            for name in ["number_of_shards", "number_of_replicas", "index.number_of_shards", "index.number_of_replicas"]
            {
                members.remove(name);
            }
            members.iter_mut().filter(|(name, _)| *name != "mappings").for_each(|(_, value)| without_shards(value));
        }
        Json::Array(list) => list.iter_mut().for_each(without_shards),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(own: Option<Json>, api: Api) -> TemplateOptions {
        let own = own.map(|own| own.as_object().cloned().unwrap());
        TemplateOptions { own, name: None, overwrite: false, api, ecs: Ecs::Disabled }
    }

    fn server(product: Product, major: u32) -> Server {
        Server { product, major, minor: 0 }
    }

    fn lifecycle() -> Lifecycle {
        Lifecycle::with("app", "my-policy")
    }

    #[test]
    fn the_api_follows_the_server_and_the_document_the_api() {
        for (api, server, path, priority) in [
            (Api::Auto, server(Product::Elasticsearch, 9), "/_index_template/logstash", true),
            (Api::Auto, server(Product::Elasticsearch, 7), "/_template/logstash", false),
            (Api::Auto, server(Product::OpenSearch, 2), "/_index_template/logstash", true),
            (Api::Auto, server(Product::Serverless, 8), "/_index_template/logstash", true),
            (Api::Only(Form::Legacy), server(Product::Elasticsearch, 8), "/_template/logstash", false),
            (Api::Only(Form::Composable), server(Product::Elasticsearch, 7), "/_index_template/logstash", true),
        ] {
            let template = options(None, api).template(server, None).unwrap();
            assert_eq!((template.path.as_str(), template.body["priority"].is_u64()), (path, priority));
        }
        let refused = options(None, Api::Only(Form::Legacy)).template(server(Product::Serverless, 8), None);
        assert!(refused.is_err_and(|e| e.contains("serverless")));
    }

    #[test]
    fn managed_indexes_get_their_policy_where_the_document_has_its_settings() {
        for (own, api, place) in [
            (json!({ "template": { "mappings": {} } }), Api::Only(Form::Composable), "/template/settings"),
            (json!({ "settings": { "a": 1 } }), Api::Only(Form::Legacy), "/settings"),
            (json!({}), Api::Only(Form::Composable), "/template/settings"),
            (json!({ "template": "old-*", "mappings": {} }), Api::Only(Form::Legacy), "/settings"),
        ] {
            let made = options(Some(own.clone()), api).template(server(Product::Elasticsearch, 8), Some(&lifecycle()));
            let made = made.unwrap();
            assert!(made.path.ends_with("/app"), "{}", made.path);
            assert_eq!(made.body["index_patterns"], "app-*");
            let settings = made.body.pointer(place).unwrap_or_else(|| panic!("{own}: {}", made.body));
            assert_eq!(settings["index.lifecycle.name"], "my-policy");
            assert_eq!(settings["index.lifecycle.rollover_alias"], "app");
        }
    }

    #[test]
    fn a_document_without_room_for_settings_is_told() {
        for own in [json!({ "template": [1] }), json!({ "template": { "settings": 1 } }), json!({ "settings": "x" })] {
            let made = options(Some(own), Api::Auto).template(server(Product::Elasticsearch, 8), Some(&lifecycle()));
            assert!(made.is_err_and(|e| e.contains("no object")));
        }
    }

    #[test]
    fn serverless_templates_name_no_shards() {
        let own = json!({ "template": { "settings": { "index.number_of_shards": 3, "index": { "number_of_replicas": 1, "a": 1 } } } });
        let made = options(Some(own), Api::Auto).template(server(Product::Serverless, 8), None).unwrap();
        assert_eq!(made.body, json!({ "template": { "settings": { "index": { "a": 1 } } } }));
        assert!(
            !options(None, Api::Auto)
                .template(server(Product::Serverless, 8), None)
                .unwrap()
                .body
                .to_string()
                .contains("number_of")
        );
    }
}
