//! Case files as JSON values.

use std::path::Path;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::Value as Json;

/// All cases of a file.
pub fn cases(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap();
    let documents = Yaml::load_from_str(&text).unwrap();
    documents[0].as_sequence().unwrap().iter().map(json).collect()
}

fn json(yaml: &Yaml) -> Json {
    match yaml {
        Yaml::Sequence(list) => list.iter().map(json).collect(),
        Yaml::Mapping(map) => map.iter().map(|(k, v)| (key(k), json(v))).collect::<serde_json::Map<_, _>>().into(),
        Yaml::Value(Scalar::Null) => Json::Null,
        Yaml::Value(Scalar::Boolean(b)) => Json::from(*b),
        Yaml::Value(Scalar::Integer(n)) => Json::from(*n),
        Yaml::Value(Scalar::FloatingPoint(f)) => Json::from(f.into_inner()),
        Yaml::Value(Scalar::String(s)) => Json::from(s.as_ref()),
        other => panic!("not expected in a case file: {other:?}"),
    }
}

fn key(yaml: &Yaml) -> String {
    match json(yaml) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}
