use super::*;

fn natures(definition: &str) -> ArgumentNatures {
    ArgumentNatures::of(&Object::parse(definition.to_owned()).unwrap())
}

#[test]
fn names_descriptions_and_schemas_tell_what_arguments_are() {
    for row in include_str!("natures.txt").lines().filter(|row| !row.starts_with('#')) {
        let parts: Vec<_> = row.split('\t').collect();
        let [nature, name, tool, about, schema] = parts.try_into().unwrap();
        let properties = format!(r#"{{"properties":{{"{name}":{schema}}}}}"#);
        let definition = format!(r#"{{"name":"{tool}","description":"{about}","inputSchema":{properties}}}"#);
        assert_eq!(format!("{:?}", natures(&definition).nature(name)), nature, "{row}");
    }
    let beside = r#"{"name":"get","inputSchema":{"properties":{"owner":{},"repo":{},"path":{}}}}"#;
    assert_eq!(natures(beside).nature("path"), ArgumentNature::Unknown);
}

#[test]
fn a_schema_adds_to_what_the_name_tells_and_takes_nothing_away() {
    let natures = natures(
        r#"{"name":"fetch","inputSchema":{"properties":{
            "target":{"type":"string","format":"uri"},
            "command":{"type":"string","format":"uri"},
            "nested":{"type":"array","items":{"properties":{"place":{"format":"hostname"}}}}}}}"#,
    );
    assert_eq!(natures.nature("target"), ArgumentNature::Url);
    assert_eq!(natures.nature("command"), ArgumentNature::Command);
    assert_eq!(natures.nature("place"), ArgumentNature::Host);
}

#[test]
fn a_schema_of_any_depth_is_survived() {
    let deep = format!("{}1{}", r#"{"items":"#.repeat(100), "}".repeat(100));
    let natures = natures(&format!(r#"{{"name":"x","inputSchema":{deep}}}"#));
    assert_eq!(natures.nature("path"), ArgumentNature::Path);
}

#[test]
fn files_are_read_or_written_as_the_argument_and_the_tool_say() {
    let files = |tool: &str, arguments: &str| {
        let natures =
            natures(&format!(r#"{{"name":"{tool}","inputSchema":{{"properties":{{{arguments}}}}}}}"#));
        (natures.files.read, natures.files.written)
    };
    assert_eq!(files("read_file", r#""path":{}"#), (true, false));
    assert_eq!(files("write_file", r#""path":{}"#), (false, true));
    assert_eq!(files("get_page", r#""file":{"description":"Where to save the page"}"#), (false, true));
    assert_eq!(files("create_page", r#""file":{"description":"File to read the body from"}"#), (true, false));
    assert_eq!(files("edit_image", r#""image_path":{},"output_path":{}"#), (true, true));
    assert_eq!(files("export_sheet", r#""path":{},"csv_path":{}"#), (true, true));
    assert_eq!(files("move_file", r#""source":{},"destination":{}"#), (false, true));
    assert_eq!(files("run", r#""command":{},"cwd":{}"#), (false, false), "a place is no file");
    assert_eq!(files("search_code", r#""file_pattern":{}"#), (true, false), "a glob reads");
}
