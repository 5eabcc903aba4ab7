use super::*;

fn natures(definition: &str) -> Natures {
    Natures::of(&Object::parse(definition.to_owned()).unwrap())
}

#[test]
fn names_tell_what_arguments_are() {
    use Nature::{Code, Command, Host, HttpMethod, Path, Text, Unknown, Url};
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
        assert_eq!(Natures::default().nature(name), nature, "{name}");
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
    assert_eq!(natures.nature("target"), Nature::Url);
    assert_eq!(natures.nature("command"), Nature::Command);
    assert_eq!(natures.nature("place"), Nature::Host);
}

#[test]
fn a_query_is_sql_where_a_database_is_talked_to() {
    let database = natures(r#"{"name":"run_query","description":"Runs it on the PostgreSQL database"}"#);
    assert_eq!(database.nature("query"), Nature::Sql);
    let search = natures(r#"{"name":"search","description":"Searches the web"}"#);
    assert_eq!(search.nature("query"), Nature::Text);
}

#[test]
fn a_schema_of_any_depth_is_survived() {
    let deep = format!("{}1{}", r#"{"items":"#.repeat(100), "}".repeat(100));
    let natures = natures(&format!(r#"{{"name":"x","inputSchema":{deep}}}"#));
    assert_eq!(natures.nature("path"), Nature::Path);
}

fn nature(tool: &str, description: &str, name: &str, schema: &str) -> Nature {
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
            assert_eq!(nature("do", "", name, schema), Nature::Unknown, "{name} {schema}");
        }
    }
    assert_eq!(
        nature("do", "", "command", r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#),
        Nature::Command
    );
    assert_eq!(nature("do", "", "paths", r#"{"items":{"type":"string"}}"#), Nature::Path);
}

#[test]
fn the_last_word_of_a_name_counts() {
    for (name, wanted) in [
        ("exec_err_state", Nature::Unknown),
        ("command_id", Nature::Unknown),
        ("path_filter", Nature::Unknown),
        ("exclude_paths", Nature::Unknown),
        ("includeDomains", Nature::Unknown),
        ("folder_id", Nature::Unknown),
        ("source", Nature::Unknown),
        ("command_to_run", Nature::Command),
        ("file_name", Nature::Path),
        ("path2", Nature::Path),
        ("sqlStatements", Nature::Sql),
    ] {
        assert_eq!(nature("do", "", name, "{}"), wanted, "{name}");
    }
}

#[test]
fn a_path_is_one_of_the_servers_machine() {
    let described = |text: &str| format!(r#"{{"type":"string","description":"{text}"}}"#);
    for (tool, about, argument, wanted) in [
        ("get_file", "Gets a file from a GitHub repository.", "Path of the file", Nature::Unknown),
        ("get_file", "Gets a file.", "Path in the repository", Nature::Unknown),
        ("get_value", "Gets a value.", "JSONPath of the value", Nature::Unknown),
        ("call", "Calls the service.", "API path such as /search", Nature::Unknown),
        ("list_requests", "Lists requests.", "Only return requests whose path begins so", Nature::Unknown),
        ("upload", "Uploads to Slack.", "Local path of the file", Nature::Path),
        ("upload", "Uploads to Slack.", "Absolute path", Nature::Path),
        ("read", "Reads a file.", "", Nature::Path),
    ] {
        assert_eq!(nature(tool, about, "path", &described(argument)), wanted, "{about} {argument}");
    }
    let docstring = "Gets a value.\\n\\nArgs:\\n    path (str): The JSON path to get";
    assert_eq!(nature("json_get", docstring, "path", "{}"), Nature::Unknown);
    let beside = r#"{"name":"get","inputSchema":{"properties":{"owner":{},"repo":{},"path":{}}}}"#;
    assert_eq!(natures(beside).nature("path"), Nature::Unknown);
}

#[test]
fn an_address_counts_where_it_is_visited() {
    let address = r#"{"type":"string","format":"uri"}"#;
    assert_eq!(nature("browse", "Opens a page.", "url", address), Nature::Url);
    assert_eq!(nature("get_page", "", "url", address), Nature::Url);
    assert_eq!(nature("create_link", "Adds a link to an issue.", "url", address), Nature::Unknown);
    assert_eq!(nature("create_import", "Imports what it fetches.", "url", address), Nature::Url);
    let filter = r#"{"type":"string","description":"Filter by URL"}"#;
    assert_eq!(nature("list_requests", "", "url", filter), Nature::Unknown);
}

#[test]
fn code_counts_where_it_is_run() {
    for (tool, about, name, wanted) in [
        ("run_code", "Runs Python.", "code", Nature::Code),
        ("evaluate", "Evaluates JavaScript in the page.", "function", Nature::Code),
        ("evaluate", "Evaluates JavaScript in the page.", "source", Nature::Code),
        ("do", "", "code", Nature::Code),
        ("lint_file", "Explains mistakes.", "code", Nature::Unknown),
        ("get_function", "Describes a function of AWS.", "function", Nature::Unknown),
        ("verify", "Checks a verification code.", "country_code", Nature::Unknown),
    ] {
        assert_eq!(nature(tool, about, name, "{}"), wanted, "{tool} {name}");
    }
}

#[test]
fn a_description_tells_what_a_name_does_not() {
    let described = |text: &str| format!(r#"{{"type":"string","description":"{text}"}}"#);
    for (text, wanted) in [
        ("Optional file path to read", Nature::Path),
        ("The absolute path of the image", Nature::Path),
        ("URL of the page", Nature::Url),
        ("Shell command to execute", Nature::Command),
        ("SQL to run", Nature::Sql),
        ("Type of the path", Nature::Unknown),
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
