//! Documents that are written from definitions.

use mgp_types::mgp::Version;

use super::*;
use crate::tool_spec::document::Section;
use crate::tool_spec::finding::SpecRule;
use crate::tool_spec::{InvalidDefinition, ToolDiff, generate};

const LIST: &str = r##"{"tools":[
    {"name":"GetForecast","description":"# Returns a forecast.\n```\n## Tool: `a.b`\n**Version**: 9.9.9\n| a | b |",
     "inputSchema":{"type":"object","properties":{"city":{"type":"string","description":"The city | town."},
        "days":{"type":"integer","minimum":2},"any":{},"list":{"type":"array"},"place":{"$ref":"#/$defs/place"}},
        "required":["city","days"],"$defs":{"place":{"properties":{"lat":{"type":"number"}}}}},
     "outputSchema":{"type":"object","properties":{"days":{"type":"array","items":{"type":"object","properties":{"t":{"type":"number"}}}}},
        "required":["days"]},
     "annotations":{"idempotentHint":true},"_meta":{"version":"3.1.4"},
     "security":{"permissions_required":["network.outbound"]}},
    {"name":"get_forecast","inputSchema":{"type":"object"},"outputSchema":{"type":"string"}},
    {"name":"list.all","inputSchema":{}}
]}"##;

// covers: ENV-4.1-09
#[test]
fn a_generated_document_passes_the_lint() {
    let tools = ToolInterface::of_definitions(LIST).unwrap();
    let spec = generate(&tools, Some("weather"), Version::FIRST).unwrap();
    assert_eq!(spec.tools, ["weather.get_forecast", "weather.get_forecast_2", "weather.list.all"]);
    let report = lint(&spec.document);
    assert_eq!(report.errors(), 0, "{:#?}\n{}", report.findings, spec.document);
    let read = ToolInterface::of_document(&document(&spec.document));
    assert_eq!(read[0].version.unwrap().to_string(), "3.1.4");
    assert_eq!(read[1].version.unwrap().to_string(), "1.0.0");
    // The document says of the tool what the definition says.
    let report = super::super::lint(&[document(&spec.document)], &[], &tools, &compile);
    let of_first = |rule| {
        report
            .findings
            .iter()
            .filter(|it| it.rule == rule && it.tool.as_deref() == Some("weather.get_forecast"))
            .count()
    };
    assert_eq!(
        (of_first(SpecRule::Definition), of_first(SpecRule::Security), of_first(SpecRule::Idempotency)),
        (0, 0, 0),
        "{:#?}",
        report.findings
    );
}

// covers: ENV-6.1-02
#[test]
fn json_in_documents_is_indented_by_two() {
    let tools = ToolInterface::of_definitions(LIST).unwrap();
    let spec = generate(&tools, Some("weather"), Version::FIRST).unwrap();
    let read = document(&spec.document);
    let blocks: Vec<_> = read.tools.iter().flat_map(|tool| &tool.sections).flat_map(Section::json).collect();
    assert_eq!(blocks.len(), 18);
    for (_, json) in blocks {
        let value: Value = serde_json::from_str(json).unwrap();
        assert_eq!(json, serde_json::to_string_pretty(&value).unwrap() + "\n");
        let indented = json.lines().filter(|line| line.starts_with("  \"")).count();
        assert_eq!(indented, value.as_object().unwrap().len(), "{json}");
    }
}

#[test]
fn what_the_definitions_do_not_say_is_told() {
    let tools = ToolInterface::of_definitions(LIST).unwrap();
    let gaps = generate(&tools, Some("weather"), Version::FIRST).unwrap().gaps;
    for gap in [
        "`weather.get_forecast` has no description of the parameter at /properties/days",
        "`weather.get_forecast` has no description of the parameter at /$defs/place/properties/lat",
        "`weather.get_forecast_2` has no description",
        "`weather.list.all` has no output schema: the document allows any object",
    ] {
        assert!(gaps.iter().any(|known| known == gap), "{gap} is not in {gaps:#?}");
    }
}

#[test]
fn a_name_without_a_module_is_refused_unless_there_is_one() {
    let tools = ToolInterface::of_definitions(r#"{"name":"get","inputSchema":{}}"#).unwrap();
    assert_eq!(generate(&tools, None, Version::FIRST), Err(InvalidDefinition::Unnamed("get".to_owned())));
    let tools = ToolInterface::of_definitions(r#"{"name":"weather.get","inputSchema":{}}"#).unwrap();
    let spec = generate(&tools, None, "0.3.0".parse().unwrap()).unwrap();
    assert_eq!(spec.tools, ["weather.get"]);
    let read = ToolInterface::of_document(&document(&spec.document));
    assert_eq!(ToolDiff::between(&read, &read)[0].least_version.unwrap().to_string(), "0.3.0");
}

#[test]
fn an_example_of_a_schema_in_circles_ends() {
    let schema = r##"{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"}},
        "required":["a","b","c","d"]}"##;
    let spec = generate(&[tool(schema, "")], None, Version::FIRST).unwrap();
    assert!(spec.document.len() < 500_000, "{}", spec.document.len());
}
