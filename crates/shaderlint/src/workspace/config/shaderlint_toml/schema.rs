//! The schema of `shaderlint.toml`, for editors. `SNAPSHOTS=overwrite` regenerates it.

use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use shaderlint_hlsl::Version;
use shaderlint_linter::{Category, FixForm};
use shaderlint_rules::RULES;
use snapbox::{Data, assert_data_eq};

use super::File;

/// `["A", "B=2"]` or `{ A = true, B = 2 }`.
pub(super) fn defines(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "default": [],
        "anyOf": [
            { "type": "array", "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*(=.*)?$" } },
            {
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
                "additionalProperties": { "type": ["string", "integer", "boolean"] }
            }
        ]
    })
}

/// The versions of HLSL.
pub(super) fn version(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": Version::ALL.map(Version::name) })
}

/// The forms of fixes.
pub(super) fn form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "default": FixForm::default().name(), "enum": FixForm::ALL.map(FixForm::name) })
}

/// Levels by rule, alias or category.
pub(super) fn levels(_: &mut SchemaGenerator) -> Schema {
    let mut names = Map::new();
    let mut add = |name: &str, about: &str| {
        names.insert(
            name.to_owned(),
            json!({ "description": about, "enum": ["off", "info", "warn", "error"] }),
        );
    };
    for category in Category::ALL {
        add(&category.to_string(), "All rules of this category");
    }
    for rule in RULES {
        add(rule.id, rule.summary);
        for alias in rule.aliases {
            add(alias, "What others call some of these rules");
        }
    }
    json_schema!({ "type": "object", "properties": names, "additionalProperties": false })
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<File>();
    schema.insert("title".to_owned(), "shaderlint.toml".into());
    schema.to_value()
}

#[test]
fn editors_are_told_what_is_read() {
    let mut text = serde_json::to_string_pretty(&schema()).expect("it is all text");
    text.push('\n');
    let expected = Data::read_from(&root().join("docs/shaderlint.schema.json"), None);
    assert_data_eq!(text, expected.raw());
}

#[test]
fn keys_are_looked_for_in_the_tables_that_have_them() {
    let schema = schema();
    for (table, keys) in super::TABLES {
        let name = table[..1].to_uppercase() + &table[1..];
        let properties = schema["definitions"][&name]["properties"].as_object();
        let mut there: Vec<&str> = properties.expect("a table").keys().map(String::as_str).collect();
        there.sort_unstable();
        let mut said = keys.to_vec();
        said.sort_unstable();
        assert_eq!(said, there, "[{table}]");
    }
}

#[test]
fn the_schema_takes_what_is_documented_and_nothing_else() {
    let schema = jsonschema::validator_for(&schema()).expect("a schema");
    let page = std::fs::read_to_string(root().join("docs/configuration.md")).expect("the page");
    let example = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let example = example.expect("an example");
    assert!(toml::from_str::<File>(example).is_ok());
    let value = |text: &str| -> Value { toml::from_str(text).expect("TOML") };
    let errors: Vec<String> = schema
        .iter_errors(&value(example))
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    for wrong in [
        "define = []",
        "[levels]\nraces = \"warn\"",
        "[levels]\nperf = \"loud\"",
        "[preprocess]\ndefines = [\"1A\"]",
        "[files]\nexclude = \"a\"",
        "[target]\nhlsl = \"2019\"",
        "[target]\nhlsl = 2018",
        "[fix]\nform = \"block\"",
    ] {
        assert!(!schema.is_valid(&value(wrong)), "{wrong}");
        assert!(toml::from_str::<File>(wrong).is_err(), "{wrong}");
    }
}
