use super::*;

fn answer(is_success: bool, out: &str, errors: &str) -> Answer {
    Answer { is_success, out: out.to_owned(), errors: errors.to_owned() }
}

fn package(description: &str) -> Holder {
    Holder::Package(description.to_owned())
}

#[test]
fn npm_tells_a_free_name_from_a_registry_that_gives_no_answer() {
    let there = answer(true, r#"{"name": "left-pad", "description": "String left pad"}"#, "");
    assert_eq!(there.of_npm().unwrap(), package("String left pad"));
    let free = answer(false, r#"{"error": {"code": "E404", "summary": "Not Found"}}"#, "npm error 404");
    assert_eq!(free.of_npm().unwrap(), Holder::Nobody);
    let away = answer(false, r#"{"error": {"code": "ECONNREFUSED", "summary": "request failed"}}"#, "");
    assert!(away.of_npm().unwrap_err().is::<Unreachable>());
    assert!(answer(false, "", "npm error network").of_npm().unwrap_err().is::<Unreachable>());
}

#[test]
fn pip_tells_a_free_name_from_a_registry_that_gives_no_answer() {
    assert_eq!(answer(true, "mgp (1.1.1)\n", "").of_pip().unwrap(), package("mgp (1.1.1)"));
    let none = "ERROR: No matching distribution found for x";
    let free = format!("Could not fetch URL: 404 Client Error: Not Found - skipping\n{none}");
    assert_eq!(answer(false, "", &free).of_pip().unwrap(), Holder::Nobody);
    assert!(
        matches!(answer(false, "", none).of_pip().unwrap(), Holder::Package(_)),
        "a project without files"
    );
    let away = format!("Could not fetch URL: connection error: Max retries exceeded - skipping\n{none}");
    assert!(answer(false, "", &away).of_pip().unwrap_err().is::<Unreachable>());
    assert!(answer(false, "", "No module named pip").of_pip().unwrap_err().is::<Unreachable>());
    let report = answer(true, r#"{"install": [{"metadata": {"name": "mgp", "summary": "Type hints"}}]}"#, "");
    assert_eq!(report.summary_of_pip().unwrap(), "Type hints");
}

#[test]
fn cargo_tells_a_free_name_from_a_registry_that_gives_no_answer() {
    let there = answer(true, "serde #serialization\nA framework\nversion: 1.0.0\n", "");
    assert_eq!(there.of_cargo().unwrap(), package("A framework"));
    assert_eq!(
        answer(false, "", "error: could not find `x` in registry").of_cargo().unwrap(),
        Holder::Nobody
    );
    let away = answer(false, "", "error: download of config.json failed");
    assert!(away.of_cargo().unwrap_err().is::<Unreachable>());
}

#[test]
fn apt_tells_what_has_a_name() {
    let there = answer(true, "Package: mgp\nDescription-en: MagicPoint\n more\n", "");
    assert_eq!(there.of_apt(), package("MagicPoint"));
    assert_eq!(answer(false, "", "E: No packages found").of_apt(), Holder::Nobody);
}

#[test]
fn a_program_that_is_not_installed_gives_no_answer() {
    let error = Answer::of("no-such-program-anywhere", &[]).map(drop).unwrap_err();
    assert!(error.is::<Unreachable>(), "{error}");
}
