//! The table of a section compared with its schema.

use std::collections::HashSet;

use serde_json::Value;

use super::document::Section;
use super::schema_diff::resolved;
use super::schema_rules::{TYPES, types};
use super::section::SectionKind;
use super::table::TableRow;

/// Returns what the first table of a section says differently than the schema, each with its line.
///
/// The table has a row for each property of the root. The first column has the name, the columns "Type" and "Required"
/// the rest. Only parameters need the column "Required".
pub(super) fn faults(section: &Section, schema: &Value) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let root = resolved(schema, schema);
    let none = serde_json::Map::new();
    let properties = root.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = root.get("required").and_then(Value::as_array);
    let Some(table) = section.tables().next() else {
        if !properties.is_empty() {
            let what = "the section has no table with the columns Name, Type, Required and Description";
            faults.push((section.line, what.to_owned()));
        }
        return faults;
    };
    let mut seen = HashSet::new();
    for row in table.rows() {
        let name = row.name();
        let mut fault = |what: String| faults.push((row.line, what));
        let Some(property) = properties.get(name) else {
            fault(format!("the table has `{name}`, which is not in the schema"));
            continue;
        };
        if !seen.insert(name) {
            fault(format!("the table has `{name}` twice"));
        }
        let expected = types(resolved(schema, property));
        if let Some(said) = said_type(row).filter(|said| !expected.is_empty() && !is_type(said, &expected)) {
            let expected = expected.join(" or ");
            fault(format!("the table says that `{name}` is {said}, and the schema says {expected}"));
        }
        let is_required = required.is_some_and(|required| required.iter().any(|known| known == name));
        let is_told = |word: bool| if word { "required" } else { "optional" };
        match row.cell(&["required", "required?"]).map(yes_or_no) {
            None if section.kind != Some(SectionKind::InputSchema) => {}
            Some(Some(said)) if said == is_required => {}
            Some(Some(said)) => fault(format!(
                "the table says that `{name}` is {}, and the schema that it is {}",
                is_told(said),
                is_told(is_required)
            )),
            Some(None) | None => {
                fault(format!("the table does not say whether `{name}` is required: write Yes or No"));
            }
        }
    }
    for name in properties.keys().filter(|name| !seen.contains(name.as_str())) {
        faults.push((table.line, format!("the table lacks `{name}`")));
    }
    faults
}

/// Returns the first type that a row names; an array if its elements have the type.
fn said_type(row: TableRow<'_>) -> Option<&'static str> {
    let cell = row.cell(&["type"])?.to_lowercase();
    let mut words = cell.split(|c: char| !c.is_ascii_alphabetic());
    let said = words.find_map(|word| TYPES.into_iter().find(|known| *known == word))?;
    Some(if cell.ends_with("[]") { "array" } else { said })
}

fn is_type(said: &str, expected: &[&str]) -> bool {
    // Whole numbers are numbers.
    expected.contains(&said) || (said == "number" && expected.contains(&"integer"))
}

fn yes_or_no(cell: &str) -> Option<bool> {
    match cell.to_lowercase().as_str() {
        "yes" | "required" | "true" | "✓" => Some(true),
        "no" | "optional" | "false" | "✗" | "-" | "" => Some(false),
        _ => None,
    }
}
