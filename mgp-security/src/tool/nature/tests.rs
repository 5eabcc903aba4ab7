use super::*;

fn natures(definition: &str) -> ArgumentNatures {
    ArgumentNatures::of(&Object::parse(definition.to_owned()).unwrap())
}

#[test]
fn names_tell_what_arguments_are() {
    use ArgumentNature::{Code, Command, Host, HttpMethod, Path, Text, Unknown, Url};
    for (name, nature) in [
        ("command", Command),
        ("shellCommand", Command),
        ("cmd", Command),
        ("code", Code),
        ("python_code", Code),
        ("country_code", Unknown),
        ("postalCode", Unknown),
        ("script", Code),
        ("url", Url),
        ("webhook", Url),
        ("repo_url", Url),
        ("url_path", Url),
        ("hostname", Host),
        ("ip_address", Host),
        ("path", Path),
        ("outputFile", Path),
        ("http_method", HttpMethod),
        ("commit_message", Text),
        ("query", Text),
        ("branch", Unknown),
    ] {
        assert_eq!(ArgumentNatures::default().nature(name), nature, "{name}");
    }
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
fn a_query_is_sql_where_a_database_is_talked_to() {
    let database = natures(r#"{"name":"run_query","description":"Runs it on the PostgreSQL database"}"#);
    assert_eq!(database.nature("query"), ArgumentNature::Sql);
    let search = natures(r#"{"name":"search","description":"Searches the web"}"#);
    assert_eq!(search.nature("query"), ArgumentNature::Text);
}

#[test]
fn a_schema_of_any_depth_is_survived() {
    let deep = format!("{}1{}", r#"{"items":"#.repeat(100), "}".repeat(100));
    let natures = natures(&format!(r#"{{"name":"x","inputSchema":{deep}}}"#));
    assert_eq!(natures.nature("path"), ArgumentNature::Path);
}

fn nature(tool: &str, description: &str, name: &str, schema: &str) -> ArgumentNature {
    let definition = format!(
        r#"{{"name":"{tool}","description":"{description}","inputSchema":{{"properties":{{"{name}":{schema}}}}}}}"#
    );
    natures(&definition).nature(name)
}

#[test]
fn a_choice_a_flag_or_a_number_is_nothing_that_is_checked() {
    for schema in [
        r#"{"enum":["init","apply"]}"#,
        r#"{"const":"ls"}"#,
        r#"{"type":"boolean"}"#,
        r#"{"type":["integer","null"]}"#,
        r#"{"anyOf":[{"type":"string","enum":["a"]},{"type":"null"}]}"#,
    ] {
        for name in ["command", "path", "url", "code"] {
            assert_eq!(nature("do", "", name, schema), ArgumentNature::Unknown, "{name} {schema}");
        }
    }
    assert_eq!(
        nature("do", "", "command", r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#),
        ArgumentNature::Command
    );
    assert_eq!(nature("do", "", "paths", r#"{"items":{"type":"string"}}"#), ArgumentNature::Path);
}

#[test]
fn the_last_word_of_a_name_counts() {
    for (name, wanted) in [
        ("exec_err_state", ArgumentNature::Unknown),
        ("command_id", ArgumentNature::Unknown),
        ("path_filter", ArgumentNature::Unknown),
        ("exclude_paths", ArgumentNature::Unknown),
        ("includeDomains", ArgumentNature::Unknown),
        ("folder_id", ArgumentNature::Unknown),
        ("source", ArgumentNature::Unknown),
        ("command_to_run", ArgumentNature::Command),
        ("file_name", ArgumentNature::Path),
        ("path2", ArgumentNature::Path),
        ("sqlStatements", ArgumentNature::Sql),
    ] {
        assert_eq!(nature("do", "", name, "{}"), wanted, "{name}");
    }
}

#[test]
fn a_path_is_one_of_the_servers_machine() {
    let described = |text: &str| format!(r#"{{"type":"string","description":"{text}"}}"#);
    for (tool, about, argument, wanted) in [
        ("get_file", "Gets a file from a GitHub repository.", "Path of the file", ArgumentNature::Unknown),
        ("get_file", "Gets a file.", "Path in the repository", ArgumentNature::Unknown),
        ("get_value", "Gets a value.", "JSONPath of the value", ArgumentNature::Unknown),
        ("call", "Calls the service.", "API path such as /search", ArgumentNature::Unknown),
        (
            "list_requests",
            "Lists requests.",
            "Only return requests whose path begins so",
            ArgumentNature::Unknown,
        ),
        ("upload", "Uploads to Slack.", "Local path of the file", ArgumentNature::Path),
        ("upload", "Uploads to Slack.", "Absolute path", ArgumentNature::Path),
        ("read", "Reads a file.", "", ArgumentNature::Path),
    ] {
        assert_eq!(nature(tool, about, "path", &described(argument)), wanted, "{about} {argument}");
    }
    let docstring = "Gets a value.\\n\\nArgs:\\n    path (str): The JSON path to get";
    assert_eq!(nature("json_get", docstring, "path", "{}"), ArgumentNature::Unknown);
    let beside = r#"{"name":"get","inputSchema":{"properties":{"owner":{},"repo":{},"path":{}}}}"#;
    assert_eq!(natures(beside).nature("path"), ArgumentNature::Unknown);
}

#[test]
fn an_address_counts_where_it_is_visited() {
    let address = r#"{"type":"string","format":"uri"}"#;
    assert_eq!(nature("browse", "Opens a page.", "url", address), ArgumentNature::Url);
    assert_eq!(nature("get_page", "", "url", address), ArgumentNature::Url);
    assert_eq!(nature("create_link", "Adds a link to an issue.", "url", address), ArgumentNature::Link);
    assert_eq!(nature("create_import", "Imports what it fetches.", "url", address), ArgumentNature::Url);
    let filter = r#"{"type":"string","description":"Filter by URL"}"#;
    assert_eq!(nature("list_requests", "", "url", filter), ArgumentNature::Link);
}

#[test]
fn code_counts_where_it_is_run() {
    for (tool, about, name, wanted) in [
        ("run_code", "Runs Python.", "code", ArgumentNature::Code),
        ("evaluate", "Evaluates JavaScript in the page.", "function", ArgumentNature::Code),
        ("evaluate", "Evaluates JavaScript in the page.", "source", ArgumentNature::Code),
        ("do", "", "code", ArgumentNature::Code),
        ("lint_file", "Explains mistakes.", "code", ArgumentNature::Unknown),
        ("get_function", "Describes a function of AWS.", "function", ArgumentNature::Unknown),
        ("verify", "Checks a verification code.", "country_code", ArgumentNature::Unknown),
    ] {
        assert_eq!(nature(tool, about, name, "{}"), wanted, "{tool} {name}");
    }
}

#[test]
fn a_description_tells_what_a_name_does_not() {
    let described = |text: &str| format!(r#"{{"type":"string","description":"{text}"}}"#);
    for (text, wanted) in [
        ("Optional file path to read", ArgumentNature::Path),
        ("The absolute path of the image", ArgumentNature::Path),
        ("URL of the page", ArgumentNature::Url),
        ("Shell command to execute", ArgumentNature::Command),
        ("SQL to run", ArgumentNature::Sql),
        ("Type of the path", ArgumentNature::Unknown),
    ] {
        assert_eq!(nature("do", "", "target", &described(text)), wanted, "{text}");
    }
}

#[test]
fn files_are_read_or_written_as_the_argument_and_the_tool_say() {
    let files = |tool: &str, arguments: &str| {
        let natures =
            natures(&format!(r#"{{"name":"{tool}","inputSchema":{{"properties":{{{arguments}}}}}}}"#));
        (natures.files().read, natures.files().written)
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
