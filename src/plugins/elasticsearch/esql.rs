//! ES|QL: a query that answers with a table. Each row becomes a map with the columns as fields.

use reqwest::Method;
use serde_json::Value as Json;

use super::search::{Failure, Searcher};
use crate::event::{Map, Text, Value};

/// Columns that hold nothing are left out by the server.
const PATH: &str = "/_query?format=json&drop_null_columns=true";

/// Asks, and gives the rows. `params` are the named parameters of the query.
pub async fn ask(searcher: &Searcher, query: &str, params: &[(String, Json)]) -> Result<Vec<Map>, Failure> {
    let mut body = serde_json::json!({ "query": query });
    if !params.is_empty() {
        let params = params.iter().map(|(name, value)| serde_json::json!({ name.as_str(): value }));
        if let Some(body) = body.as_object_mut() {
            body.insert("params".to_owned(), params.collect());
        }
    }
    let answer = searcher.ask(Method::POST, PATH, Some(&body)).await?;
    Ok(rows(answer))
}

fn rows(mut answer: Map) -> Vec<Map> {
    let columns = names(&answer);
    let Some(Value::Array(values)) = answer.remove("values") else { return Vec::new() };
    let rows = values.into_iter().filter_map(|row| match row {
        Value::Array(cells) => Some(columns.iter().zip(cells)),
        _ => None,
    });
    rows.map(|cells| {
        let mut row = Map::new();
        cells.filter(|(_, cell)| !cell.is_null()).for_each(|(path, cell)| put(&mut row, path, cell));
        row
    })
    .collect()
}

/// The way to each column, which is dotted.
fn names(answer: &Map) -> Vec<Vec<String>> {
    let columns = answer.get("columns").and_then(Value::as_array).unwrap_or_default();
    let name = |column: &Value| {
        let name = column.as_map().and_then(|column| column.get("name")).and_then(Value::as_str).unwrap_or_default();
        name.split('.').map(str::to_owned).collect()
    };
    columns.iter().map(name).collect()
}

/// Sets a value, making the maps on the way to it. Where something else than a map is in the way (`name` and
/// `name.keyword`), the one that came first stays.
fn put(row: &mut Map, path: &[String], value: Value) {
    let Some((last, way)) = path.split_last() else { return };
    let mut map = row;
    for step in way {
        let slot = map.get_or_insert_with(&Text::from(step.as_str()), || Value::Map(Map::new()));
        let Value::Map(inner) = slot else { return };
        map = inner;
    }
    map.get_or_insert_with(&Text::from(last.as_str()), || value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::testing::event;

    #[test]
    fn rows_become_maps_with_dotted_columns_as_fields_in_fields() {
        let answer = event(
            r#"{"columns":[{"name":"host.name","type":"keyword"},{"name":"host.ip"},{"name":"m"},{"name":"m.keyword"}],
                "values":[["a","1.1.1.1","x","x"],["b",null,null,"y"]]}"#,
        );
        let rows = rows(answer.fields().clone());
        let shown = |row: &Map| {
            let mut out = Vec::new();
            crate::event::json::write_map(row, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            rows.iter().map(shown).collect::<Vec<_>>(),
            [r#"{"host":{"name":"a","ip":"1.1.1.1"},"m":"x"}"#, r#"{"host":{"name":"b"},"m":{"keyword":"y"}}"#]
        );
    }
}
