//! The demo's issue tracker.

use std::sync::Arc;

use mgp_server_sdk::{Server, Tool, ToolError};
use mgp_types::mgp::{ExtensionSet, Offer, RiskLevel, SideEffect, ToolSecurity};
use parking_lot::Mutex;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct IssueNumber {
    /// The number of the issue.
    issue: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct IssueQuery {
    /// A word of the title.
    query: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NewIssue {
    /// What is wrong, or wanted, in a line.
    title: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Assign {
    /// The number of the issue.
    issue: usize,
    /// Who takes care of it.
    who: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct NewComment {
    /// The number of the issue.
    issue: usize,
    /// What is added.
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Project {
    /// The name of the project.
    project: String,
}

#[derive(Debug, Clone, Default)]
struct Issue {
    title: String,
    who: Option<String>,
    closed: bool,
    labels: Vec<String>,
    comments: Vec<String>,
}

/// A project whose issues are numbered from one.
#[derive(Debug, Clone)]
struct Issues(Arc<Mutex<Vec<Issue>>>);

impl Issues {
    fn new() -> Self {
        let issue = |title: &str| Issue { title: title.into(), ..Issue::default() };
        Self(Arc::new(Mutex::new(vec![
            issue("Login takes ten seconds"),
            issue("Export to CSV loses a column"),
        ])))
    }

    fn lines(&self, wanted: impl Fn(&Issue) -> bool) -> String {
        let issues = self.0.lock();
        let found = (1..).zip(issues.iter()).filter(|(_, issue)| wanted(issue));
        let lines = found
            .map(|(number, issue)| {
                let state = if issue.closed { "closed" } else { "open" };
                let who = issue.who.as_deref().unwrap_or("nobody");
                format!("{number} [{state}] {} ({who}) {}\n", issue.title, issue.labels.join(" "))
            })
            .collect::<Vec<_>>();
        lines.concat()
    }

    fn create(&self, title: String) -> Result<String, ToolError> {
        let mut issues = self.0.lock();
        if issues.len() >= MOST || title.len() > LONGEST {
            return Err(ToolError::new("there is no room for the issue"));
        }
        issues.push(Issue { title, ..Issue::default() });
        Ok(format!("issue {}", issues.len()))
    }

    fn change<T>(&self, number: usize, change: impl FnOnce(&mut Issue) -> T) -> Result<T, ToolError> {
        let mut issues = self.0.lock();
        let issue = number.checked_sub(1).and_then(|place| issues.get_mut(place));
        issue.map(change).ok_or_else(|| ToolError::new(format!("there is no issue {number}")))
    }

    fn add(
        &self,
        NewComment { issue, text }: NewComment,
        to: impl FnOnce(&mut Issue) -> &mut Vec<String>,
    ) -> Result<&'static str, ToolError> {
        self.change(issue, |issue| {
            let list = to(issue);
            if list.len() >= MOST || text.len() > LONGEST {
                return Err(ToolError::new("there is no room for it"));
            }
            list.push(text);
            Ok("added")
        })?
    }

    fn delete_all(&self, project: &str) -> String {
        self.0.lock().clear();
        format!("{project} is gone")
    }
}

pub(super) fn server() -> Server {
    let issues = Issues::new();
    let on = || issues.clone();
    let (list, search, create, assign, comment) = (on(), on(), on(), on(), on());
    let (comments, label, close, reopen, delete) = (on(), on(), on(), on(), on());
    let reading = |name: &str, what: &str| {
        Tool::new(name, what).read_only().security(&ToolSecurity::new(RiskLevel::Safe))
    };
    let writing = |name: &str, what: &str| {
        let changes = ToolSecurity::new(RiskLevel::Moderate).with_side_effects([SideEffect::Database]);
        Tool::new(name, what).security(&changes)
    };
    let deletes = ToolSecurity::new(RiskLevel::Dangerous)
        .with_side_effects([SideEffect::Database])
        .with_reversible(false)
        .with_confirmation_required(true);
    Server::new("issues", "1.0.0")
        .mgp(Offer::new(ExtensionSet::from_names(["security"])))
        .tool(reading("list_issues", "Lists all issues of the project."), move || {
            std::future::ready(list.lines(|_| true))
        })
        .tool(
            reading("search_issues", "Finds issues by a word of the title."),
            move |IssueQuery { query }: IssueQuery| {
                std::future::ready(search.lines(|issue| issue.title.contains(&query)))
            },
        )
        .tool(
            reading("list_comments", "Shows what was said about an issue."),
            move |IssueNumber { issue }: IssueNumber| {
                std::future::ready(comments.change(issue, |issue| issue.comments.join("\n")))
            },
        )
        .tool(writing("create_issue", "Reports a bug or a wish."), move |NewIssue { title }: NewIssue| {
            std::future::ready(create.create(title))
        })
        .tool(writing("assign_issue", "Gives an issue to somebody."), move |Assign { issue, who }: Assign| {
            std::future::ready(assign.change(issue, |issue| issue.who = Some(who)))
        })
        .tool(writing("comment_on_issue", "Says something about an issue."), move |text: NewComment| {
            std::future::ready(comment.add(text, |issue| &mut issue.comments))
        })
        .tool(writing("label_issue", "Puts a label on an issue."), move |text: NewComment| {
            std::future::ready(label.add(text, |issue| &mut issue.labels))
        })
        .tool(writing("close_issue", "Marks an issue as done."), move |IssueNumber { issue }: IssueNumber| {
            std::future::ready(close.change(issue, |issue| issue.closed = true))
        })
        .tool(
            writing("reopen_issue", "Marks an issue as not done after all."),
            move |IssueNumber { issue }: IssueNumber| {
                std::future::ready(reopen.change(issue, |issue| issue.closed = false))
            },
        )
        .tool(
            Tool::new("delete_project", "Deletes a project with all its issues, for good.")
                .security(&deletes),
            move |Project { project }: Project| std::future::ready(delete.delete_all(&project)),
        )
}

const MOST: usize = 1_000;
const LONGEST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_goes_its_way() {
        let issues = Issues::new();
        assert_eq!(issues.create("Typo".into()).unwrap(), "issue 3");
        issues.change(3, |issue| issue.who = Some("ada".into())).unwrap();
        issues.add(NewComment { issue: 3, text: "easy".into() }, |issue| &mut issue.labels).unwrap();
        issues.change(3, |issue| issue.closed = true).unwrap();
        assert_eq!(issues.lines(|issue| issue.closed), "3 [closed] Typo (ada) easy\n");
        assert!(issues.change(4, |_| ()).is_err() && issues.change(0, |_| ()).is_err());
    }
}
