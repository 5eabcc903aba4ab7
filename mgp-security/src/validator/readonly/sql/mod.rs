//! The check that SQL text only reads.
//!
//! The database that will read the text is not known. So the text is split into tokens in every way in which databases read it,
//! and in each of them every statement has to begin like one that reads, and no word in it may begin a write, and no
//! function may have an effect. What the tables do not know to read is taken for a write.

#[cfg(test)]
mod tests;
mod tokens;

use crate::Finding;

use self::tokens::{SqlReading, SqlToken};
use super::lists::is_listed;
use super::writes;

/// Checks that each statement of `text` is a query, or shows or explains something, and has no side effect.
///
/// At least one reading has to make sense of the text, and none may see a write in it. A quotation mark that ends a string
/// in one dialect but not in another therefore hides nothing.
pub(crate) fn check_sql(text: &str) -> Result<(), Finding> {
    check_readings(text, |_| None)
}

/// Returns whether each statement of `text` is a query, or adds rows to a table and changes none that is there.
pub(crate) fn only_adds_rows(text: &str) -> bool {
    check_readings(text, behind_insert).is_ok()
}

/// A function that returns what is left to check of a statement that may begin as it does.
type Allowed = for<'t, 's> fn(&'t [SqlToken<'s>]) -> Option<&'t [SqlToken<'s>]>;

fn behind_insert<'t, 's>(statement: &'t [SqlToken<'s>]) -> Option<&'t [SqlToken<'s>]> {
    let [first, second, rest @ ..] = statement else { return None };
    (keyword(first) == "INSERT" && keyword(second) == "INTO").then_some(rest)
}

fn check_readings(text: &str, allowed: Allowed) -> Result<(), Finding> {
    if text.len() > MAX_BYTES {
        return Err(unreadable());
    }
    // MySQL and its kin run the content of such a comment.
    if ["/*!", "/*M!", "/*T!"].iter().any(|comment| text.contains(comment)) {
        return Err(writes("a comment contains a statement: write it as one, or leave it out"));
    }
    let mut understood = false;
    for reading in SqlReading::all(text) {
        match reading.tokens(text).and_then(|tokens| check(&tokens, allowed)) {
            Ok(()) => understood = true,
            Err(finding) if finding.rule == UNREADABLE => {}
            Err(finding) => return Err(finding),
        }
    }
    if understood { Ok(()) } else { Err(unreadable()) }
}

fn unreadable() -> Finding {
    Finding::new(UNREADABLE, "the SQL cannot be read, so nothing is known of it: send one simple query")
}

fn check(tokens: &[SqlToken<'_>], allowed: Allowed) -> Result<(), Finding> {
    let mut statements =
        tokens.split(|token| *token == SqlToken::Mark(';')).filter(|tokens| !tokens.is_empty());
    statements.clone().try_for_each(|tokens| check_statement(allowed(tokens).unwrap_or(tokens)))?;
    check_brackets(tokens)?;
    let is_good = |tokens: &[SqlToken<'_>]| allowed(tokens).is_some() || reads(tokens);
    let is_query = statements.next().is_some_and(is_good) && statements.all(is_good);
    if is_query { Ok(()) } else { Err(writes("only queries may be sent here: use SELECT, SHOW or EXPLAIN")) }
}

fn check_statement(tokens: &[SqlToken<'_>]) -> Result<(), Finding> {
    let planned = planned_write(tokens);
    for (at, token) in tokens.iter().enumerate() {
        let (before, after) = (&tokens[..at], &tokens[at + 1..]);
        match token {
            SqlToken::Assignment => {
                return Err(writes("the query sets a variable: leave the assignment out"));
            }
            SqlToken::Word("INTO" | "into" | "SET" | "set") if planned.is_some() => {}
            SqlToken::Word(_) if planned.is_some_and(|verb| at <= verb) => {}
            SqlToken::Word(word) => check_word(word, before, after)?,
            SqlToken::Quoted(name) => check_function(name, before, after)?,
            _ => {}
        }
        let is_file = match token {
            SqlToken::Quoted(name) => is_listed("sql-files", &name.to_ascii_lowercase()),
            token => *token == SqlToken::Text,
        };
        if is_file && names_table(before) {
            return Err(writes("the query reads a file: name a table"));
        }
    }
    Ok(())
}

/// Returns the place of the verb of a write that is only planned, as in `EXPLAIN DELETE FROM t`, which does not run it.
fn planned_write(statement: &[SqlToken<'_>]) -> Option<usize> {
    let verb = statement.iter().position(|token| is_listed("sql-planned", &keyword(token)))?;
    let (explain, options) = statement[..verb].split_first()?;
    let is_option = |word: &str| is_listed("sql-explaining", word) && !word.starts_with("ANALY");
    (keyword(explain) == "EXPLAIN" && options.iter().all(|token| is_option(&keyword(token)))).then_some(verb)
}

/// Returns whether the token behind names a table to read, and is no argument as in `trim(a FROM 'b')`.
fn names_table(before: &[SqlToken<'_>]) -> bool {
    let named = before.split_last().filter(|(last, _)| matches!(&*keyword(last), "FROM" | "JOIN"));
    let Some((_, earlier)) = named else { return false };
    let query = earlier.rsplit(|token| keyword(token) == "SELECT").next().unwrap_or(earlier);
    let count = |mark| query.iter().filter(|token| **token == SqlToken::Mark(mark)).count();
    count('(') <= count(')') && earlier.last().is_none_or(|token| keyword(token) != "DISTINCT")
}

fn check_brackets(tokens: &[SqlToken<'_>]) -> Result<(), Finding> {
    let mut open = Vec::new();
    for token in tokens {
        match token {
            SqlToken::Mark('(') => open.push(')'),
            SqlToken::Mark('[') => open.push(']'),
            SqlToken::Mark('{') => open.push('}'),
            SqlToken::Mark(mark @ (')' | ']' | '}')) if open.pop() != Some(*mark) => return Err(unreadable()),
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            return Err(unreadable());
        }
    }
    if open.is_empty() { Ok(()) } else { Err(unreadable()) }
}

/// Returns whether a statement begins like one that only reads. Writes that are nested in it are found by their words.
fn reads(statement: &[SqlToken<'_>]) -> bool {
    let query = statement.iter().position(|token| *token != SqlToken::Mark('(')).unwrap_or_default();
    let rest = &statement[query..];
    let Some((first, rest)) = rest.split_first() else { return false };
    match &*keyword(first) {
        "SELECT" | "VALUES" | "TABLE" | "FROM" | "SHOW" | "SUMMARIZE" | "PIVOT" | "UNPIVOT" => true,
        "WITH" => is_query_behind(rest),
        "EXPLAIN" | "DESCRIBE" | "DESC" => explains(rest),
        "PRAGMA" => pragma_reads(rest),
        _ => false,
    }
}

/// Returns whether a query follows common table expressions, which stand in brackets.
fn is_query_behind(expressions: &[SqlToken<'_>]) -> bool {
    let mut open = 0_usize;
    expressions.iter().any(|token| {
        match token {
            SqlToken::Mark('(') => open += 1,
            SqlToken::Mark(')') => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0 && matches!(&*keyword(token), "SELECT" | "VALUES" | "TABLE" | "FROM")
    })
}

/// Returns whether a query or a name is explained.
fn explains(rest: &[SqlToken<'_>]) -> bool {
    let is_option =
        |token: &SqlToken<'_>| *token == SqlToken::Mark('=') || is_listed("sql-explaining", &keyword(token));
    let options = rest.iter().take_while(|token| is_option(token)).count();
    let mut rest = &rest[options..];
    let is_list = |rest: &[SqlToken<'_>]| rest.get(1).is_some_and(is_option);
    if rest.first() == Some(&SqlToken::Mark('(')) && is_list(rest) {
        let end = rest.iter().position(|token| *token == SqlToken::Mark(')')).unwrap_or_default();
        rest = &rest[end + 1..];
    }
    let is_name = rest
        .iter()
        .all(|token| matches!(token, SqlToken::Word(_) | SqlToken::Quoted(_) | SqlToken::Mark('.')));
    let begin = rest.iter().find(|token| **token != SqlToken::Mark('(')).map(keyword).unwrap_or_default();
    matches!(&*begin, "SELECT" | "VALUES" | "TABLE" | "FROM" | "WITH")
        || is_listed("sql-planned", &begin)
        || options == 0 && is_name && (1..=LONGEST_NAME).contains(&rest.len())
}

/// Returns whether a pragma only reports something.
fn pragma_reads(rest: &[SqlToken<'_>]) -> bool {
    let rest = if let [SqlToken::Word(_), SqlToken::Mark('.'), rest @ ..] = rest { rest } else { rest };
    let [SqlToken::Word(name), argument @ ..] = rest else { return false };
    let name = name.to_ascii_lowercase();
    match argument {
        [] => is_listed("sql-pragmas", &name) || is_listed("sql-settings", &name),
        [SqlToken::Mark('('), _, SqlToken::Mark(')')] => is_listed("sql-pragmas", &name),
        _ => false,
    }
}

/// Refuses functions that do more than read.
fn check_function(name: &str, before: &[SqlToken<'_>], after: &[SqlToken<'_>]) -> Result<(), Finding> {
    if after.first() == Some(&SqlToken::Mark('(')) && !(function_reads(name) && packages_read(before)) {
        return Err(writes(format!("the function {name} does more than read: leave it out")));
    }
    Ok(())
}

/// Returns whether a function of SQL, as far as its name tells, has no effect and reads nothing but the database.
///
/// Databases have thousands of functions and let users add more, so there is no complete list of those that read.
/// Refused are the families of functions that write, wait, lock, run text as SQL or reach outside the database, and
/// every name that begins with a verb of writing.
fn function_reads(name: &str) -> bool {
    // Some databases decode escapes in quoted names.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    if is_listed("sql-pure-functions", &name) {
        return true;
    }
    let verb = name.split('_').next().unwrap_or_default();
    let writes = name.contains('_') && is_listed("sql-verbs", verb);
    !writes && !is_listed("sql-acting-functions", &name) && !is_of_family(&name)
}

/// Returns whether a function or package belongs to a family that does more than read.
fn is_of_family(name: &str) -> bool {
    is_listed("sql-families", &name.to_ascii_lowercase())
}

/// Refuses writes in any position: in subqueries, after common table expressions, after a query without a separating
/// semicolon, and in the effects of functions.
fn check_word(word: &str, before: &[SqlToken<'_>], after: &[SqlToken<'_>]) -> Result<(), Finding> {
    check_function(word, before, after)?;
    if before.last() == Some(&SqlToken::Mark('.')) {
        // In Oracle, reading `nextval` of a sequence advances it.
        let advances = word.eq_ignore_ascii_case("nextval");
        return if advances { Err(writes("the query changes a sequence: leave it out")) } else { Ok(()) };
    }
    let name = word.to_ascii_uppercase();
    let next = after.first().map(keyword).unwrap_or_default();
    let begins = || !next.is_empty() && !goes_on(&next, &name) && !is_named(before);
    let refused = match &*name {
        "INTO" => true,
        "FOR" => matches!(&*next, "UPDATE" | "SHARE" | "NO" | "KEY"),
        "LOCK" => next == "IN",
        "NEXT" => next == "VALUE" && after.get(1).map(keyword).as_deref() == Some("FOR"),
        "SETTINGS" => after.get(1) == Some(&SqlToken::Mark('=')),
        "SET" => {
            begins() && !before.last().is_some_and(|last| matches!(&*keyword(last), "CHARACTER" | "CHAR"))
        }
        "USE" => begins() && !matches!(&*next, "INDEX" | "KEY"),
        // Without a semicolon before it, some databases read this as a name and others as the next statement.
        single if is_listed("sql-single", single) => before.last().is_some_and(ends_expression),
        other => (is_listed("sql-writing", other) || is_listed("sql-acting", other)) && begins(),
    };
    if refused { Err(writes(format!("{name} does more than read here: send a plain query"))) } else { Ok(()) }
}

/// Returns whether an expression may end with the token, so that a word behind it may begin a statement.
fn ends_expression(token: &SqlToken<'_>) -> bool {
    match token {
        SqlToken::Word(_) => !is_listed("sql-expecting", &keyword(token)),
        SqlToken::Quoted(_) | SqlToken::Text | SqlToken::Number => true,
        SqlToken::Mark(mark) => matches!(mark, ')' | ']' | '*'),
        SqlToken::Assignment => false,
    }
}

/// Returns whether none of the packages that qualify a function does more than read.
fn packages_read(mut before: &[SqlToken<'_>]) -> bool {
    while let [rest @ .., SqlToken::Word(package) | SqlToken::Quoted(package), SqlToken::Mark('.')] = before {
        if is_of_family(package) {
            return false;
        }
        before = rest;
    }
    true
}

/// Returns whether the word after `before` is an alias, or follows a `SHOW` that begins a statement.
fn is_named(before: &[SqlToken<'_>]) -> bool {
    before.split_last().is_some_and(|(last, earlier)| match &*keyword(last) {
        "AS" => true,
        "SHOW" => matches!(earlier.last(), None | Some(SqlToken::Mark(';'))),
        _ => false,
    })
}

/// Returns the token as a word in upper case; `*` for a quoted name, a string, a number, `@` or `[`, and an empty text for every
/// other token.
fn keyword(token: &SqlToken<'_>) -> String {
    match token {
        SqlToken::Word(word) => word.to_ascii_uppercase(),
        SqlToken::Quoted(_) | SqlToken::Text | SqlToken::Number | SqlToken::Mark('@' | '[') => "*".to_owned(),
        _ => String::new(),
    }
}

/// Returns whether `next` continues an expression after a column with the name `name`.
fn goes_on(next: &str, name: &str) -> bool {
    // `DELETE FROM` is a statement in every position; a column of that name has to be quoted.
    (next == "FROM" && !matches!(name, "DELETE" | "MERGE")) || is_listed("sql-continuing", next)
}

/// The largest length of SQL text in bytes: longer than people write, and short enough to read several times.
const MAX_BYTES: usize = 64 * 1024;

const UNREADABLE: &str = "unreadable-sql";

/// The largest depth to which brackets may nest.
const MAX_DEPTH: usize = 100;

/// The number of tokens of the longest name: that of a column, in a table, a schema, a database.
const LONGEST_NAME: usize = 8;
