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
