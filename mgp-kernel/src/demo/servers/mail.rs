//! The demo's mail server.

use std::sync::Arc;

use mgp_server_sdk::{Server, Tool, ToolError};
use parking_lot::Mutex;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct MessageNumber {
    /// The number of the message.
    message: usize,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct InFolder {
    /// The folder, such as `inbox`.
    folder: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct MailQuery {
    /// A word of the subject or the text.
    query: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Send {
    /// Who gets it.
    to: String,
    /// The subject line.
    subject: String,
    /// The text of the message.
    body: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Reply {
    /// The number of the message that is answered.
    message: usize,
    /// The text of the answer.
    body: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ForwardMessage {
    /// The number of the message.
    message: usize,
    /// Who gets it.
    to: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Move {
    /// The number of the message.
    message: usize,
    /// The folder that it is moved to.
    folder: String,
}

#[derive(Debug, Clone)]
struct Message {
    folder: String,
    with: String,
    subject: String,
    body: String,
    read: bool,
}

/// A mailbox whose messages are numbered from one. Nothing ever leaves it.
#[derive(Debug, Clone)]
struct Mailbox(Arc<Mutex<Vec<Message>>>);

impl Mailbox {
    fn new() -> Self {
        let message = |with: &str, subject: &str, body: &str| Message {
            folder: "inbox".into(),
            with: with.into(),
            subject: subject.into(),
            body: body.into(),
            read: false,
        };
        Self(Arc::new(Mutex::new(vec![
            message("ada@example.com", "Numbers of October", "They are in the shared folder."),
            message("grace@example.com", "Release on Friday?", "Is issue 2 done by then?"),
        ])))
    }

    fn lines(&self, wanted: impl Fn(&Message) -> bool) -> String {
        let messages = self.0.lock();
        let found = (1..).zip(messages.iter()).filter(|(_, message)| wanted(message));
        let lines = found
            .map(|(number, m)| {
                let mark = if m.read { ' ' } else { '*' };
                format!("{number}{mark} [{}] {}: {}\n", m.folder, m.with, m.subject)
            })
            .collect::<Vec<_>>();
        lines.concat()
    }

    fn search(&self, query: &str) -> String {
        let query = query.to_lowercase();
        self.lines(|m| m.subject.to_lowercase().contains(&query) || m.body.to_lowercase().contains(&query))
    }

    fn change<T>(&self, number: usize, change: impl FnOnce(&mut Message) -> T) -> Result<T, ToolError> {
        let mut messages = self.0.lock();
        let message = number.checked_sub(1).and_then(|place| messages.get_mut(place));
        message.map(change).ok_or_else(|| ToolError::new(format!("there is no message {number}")))
    }

    fn send(&self, Send { to, subject, body }: Send) -> Result<String, ToolError> {
        let mut messages = self.0.lock();
        if messages.len() >= MOST || to.len() + subject.len() + body.len() > LONGEST {
            return Err(ToolError::new("there is no room for the message"));
        }
        let told = format!("sent to {to}");
        messages.push(Message { folder: "sent".into(), with: to, subject, body, read: true });
        Ok(told)
    }

    fn read(&self, number: usize) -> Result<String, ToolError> {
        self.change(number, |m| {
            m.read = true;
            format!("{}: {}\n\n{}", m.with, m.subject, m.body)
        })
    }

    fn reply(&self, Reply { message, body }: Reply) -> Result<String, ToolError> {
        let of = self.change(message, |m| m.clone())?;
        self.send(Send { to: of.with, subject: format!("Re: {}", of.subject), body })
    }

    fn forward(&self, ForwardMessage { message, to }: ForwardMessage) -> Result<String, ToolError> {
        let of = self.change(message, |m| m.clone())?;
        self.send(Send { to, subject: format!("Fwd: {}", of.subject), body: of.body })
    }

    fn folders(&self) -> String {
        let mut folders: Vec<_> = self.0.lock().iter().map(|m| m.folder.clone()).collect();
        folders.sort();
        folders.dedup();
        folders.join("\n")
    }
}

pub(super) fn server() -> Server {
    let mailbox = Mailbox::new();
    let on = || mailbox.clone();
    let (list, search, unread, read, folders) = (on(), on(), on(), on(), on());
    let (send, reply, forward, file, remove, mark) = (on(), on(), on(), on(), on(), on());
    let reading = |name: &str, what: &str| Tool::new(name, what).read_only();
    Server::new("mail", "1.0.0")
        .tool(
            reading("list_messages", "Lists the messages of a folder."),
            move |InFolder { folder }: InFolder| {
                std::future::ready(list.lines(|message| message.folder == folder))
            },
        )
        .tool(reading("list_unread", "Lists the messages that nobody has read."), move || {
            std::future::ready(unread.lines(|message| !message.read))
        })
        .tool(
            reading("search_messages", "Finds messages by a word."),
            move |MailQuery { query }: MailQuery| std::future::ready(search.search(&query)),
        )
        .tool(reading("list_folders", "Lists the folders of the mailbox."), move || {
            std::future::ready(folders.folders())
        })
        .tool(
            Tool::new("read_message", "Shows a message and marks it as read."),
            move |MessageNumber { message }: MessageNumber| std::future::ready(read.read(message)),
        )
        .tool(Tool::new("send_message", "Sends an e-mail to somebody."), move |message: Send| {
            std::future::ready(send.send(message))
        })
        .tool(Tool::new("reply_to_message", "Answers a message."), move |answer: Reply| {
            std::future::ready(reply.reply(answer))
        })
        .tool(
            Tool::new("forward_message", "Passes a message on to somebody else."),
            move |to: ForwardMessage| std::future::ready(forward.forward(to)),
        )
        .tool(
            Tool::new("move_message", "Moves a message to another folder."),
            move |Move { message, folder }: Move| {
                std::future::ready(file.change(message, |m| m.folder = folder))
            },
        )
        .tool(
            Tool::new("delete_message", "Moves a message to the bin."),
            move |MessageNumber { message }: MessageNumber| {
                std::future::ready(remove.change(message, |m| m.folder = "bin".into()))
            },
        )
        .tool(
            Tool::new("mark_unread", "Marks a message as not read."),
            move |MessageNumber { message }: MessageNumber| {
                std::future::ready(mark.change(message, |m| m.read = false))
            },
        )
}

const MOST: usize = 1_000;
const LONGEST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_no_longer_unread() {
        let mailbox = Mailbox::new();
        assert!(mailbox.read(2).unwrap().contains("issue 2"));
        assert_eq!(mailbox.lines(|m| !m.read), "1* [inbox] ada@example.com: Numbers of October\n");
        assert!(mailbox.read(3).is_err() && mailbox.read(0).is_err());
    }

    #[test]
    fn an_answer_goes_to_who_asked() {
        let mailbox = Mailbox::new();
        mailbox.reply(Reply { message: 2, body: "Yes.".into() }).unwrap();
        assert_eq!(mailbox.search("yes"), "3  [sent] grace@example.com: Re: Release on Friday?\n");
        assert_eq!(mailbox.folders(), "inbox\nsent");
    }
}
