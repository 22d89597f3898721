//! Options on what is put in place on the server: index templates and the lifecycle of indexes.

use super::super::default_template::Form;
use super::super::lifecycle::{DEFAULT_POLICY, Lifecycle, Wanted};
use super::super::template::{Api, TemplateOptions};
use crate::plugins::{Ecs, Options};

/// Reads those of templates; `None` when none is installed. `api` reads the option on the API.
pub(super) fn template(
    options: &mut Options<'_>,
    ecs: Ecs,
    manage: bool,
    api: fn(&mut Options<'_>) -> Api,
) -> Option<TemplateOptions> {
    let file = options
        .path("template")
        .doc("File with an index template of your own, instead of the built-in one.")
        .optional();
    let name = options
        .string("template_name")
        .doc("Name of the template; logstash or ecs-logstash unless given, the rollover alias where indexes are managed.")
        .optional();
    let overwrite =
        options.boolean("template_overwrite").doc("A template of that name that is there is replaced.").default(false);
    let api = api(options);
    let own = file.and_then(|file| {
        let read = std::fs::read(&file).map_err(|error| error.to_string());
        let document = read.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
        let why = |error| format!("{} is no index template, which is a JSON object: {error}", file.display());
        document.map_err(|error| options.invalid("template", why(error))).ok()
    });
    manage.then_some(TemplateOptions { own, name, overwrite, api, ecs })
}

/// `template_api`
pub(super) fn elastic_api(options: &mut Options<'_>) -> Api {
    let api = options
        .word("template_api", &["auto", "legacy", "composable"])
        .doc("Which API takes the template: composable from Elasticsearch 8 on, legacy for 7, unless given.")
        .default("auto".to_owned());
    match api.as_str() {
        "legacy" => Api::Only(Form::Legacy),
        "composable" => Api::Only(Form::Composable),
        _ => Api::Auto,
    }
}

/// `legacy_template`
pub(super) fn opensearch_api(options: &mut Options<'_>) -> Api {
    let legacy = options
        .boolean("legacy_template")
        .doc("Whether the template goes to `_template`; false for `_index_template`.")
        .default(true);
    Api::Only(if legacy { Form::Legacy } else { Form::Composable })
}

/// Reads those of lifecycles; `None` when they never apply.
pub(super) fn lifecycle(options: &mut Options<'_>, ecs: Ecs, has_index: bool, in_stream: bool) -> Option<Lifecycle> {
    let enabled = options
        .word("ilm_enabled", &["true", "false", "auto"])
        .doc("Whether events go to an alias of managed indexes; auto: where the server can manage them.")
        .default("auto".to_owned());
    let default_alias = if ecs.is_disabled() { "logstash" } else { "ecs-logstash" };
    let alias = options
        .string("ilm_rollover_alias")
        .doc("The alias; logstash or ecs-logstash unless given. It takes the place of `index`.")
        .optional()
        .unwrap_or_else(|| default_alias.to_owned());
    let pattern = options
        .string("ilm_pattern")
        .doc("What follows the alias in the name of the first index.")
        .default("{now/d}-000001".to_owned());
    let policy = options
        .string("ilm_policy")
        .doc("The policy; the one of this name is made when it is missing, any other has to be there.")
        .default(DEFAULT_POLICY.to_owned());
    if alias.contains("%{") || alias.is_empty() {
        options.invalid(
            "ilm_rollover_alias",
            "`ilm_rollover_alias` is a name, the same for all events: %{…} is not replaced in it",
        );
    }
    let wanted = match enabled.as_str() {
        "false" => return None,
        "true" => Wanted::Yes,
        _ => Wanted::Auto,
    };
    if has_index && alias == default_alias {
        if wanted == Wanted::Yes {
            let message = "`ilm_enabled` has no effect: an `index` of your own is not managed. Set `ilm_rollover_alias` instead of `index`";
            options.warn("ilm_enabled", "no-effect", message);
        }
        return None;
    }
    (!in_stream).then_some(Lifecycle { wanted, alias, pattern, policy, replaces_index: has_index })
}
