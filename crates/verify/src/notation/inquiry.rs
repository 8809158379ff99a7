//! The questions for the servers that certificates name. Nothing here reaches the network: a judgement names the
//! answers that it lacks, its caller brings them, and it is made again with them (SRC-OCI-26).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use url::Url;

/// Servers that are asked about one signature. Of its certificates and those of its timestamp each names one server or two.
const MAX_QUESTIONS: usize = 32;
/// Bytes of a server's address, as browsers have it.
const MAX_ADDRESS: usize = 2048;

/// A request to a server that a certificate names, to be sent without any credentials.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// URL of the answer, of plain HTTP.
    pub url: String,
    /// Bytes that the answer may have.
    pub max_answer: usize,
    /// Time for the whole exchange.
    pub timeout: Duration,
}

/// The answers of servers: the body of a response with status 200, or the reason for which there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers(BTreeMap<Question, Result<Vec<u8>, String>>);

impl Answers {
    /// Keeps an answer.
    pub fn note(&mut self, question: Question, answer: Result<Vec<u8>, String>) {
        self.0.insert(question, answer);
    }
}

/// The reason for which there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unanswered {
    /// Nobody has been asked yet.
    #[error("not asked yet")]
    Pending,
    #[error("more than {MAX_QUESTIONS} servers would have to be asked")]
    TooMany,
    #[error("{0}")]
    Failed(String),
}

/// Reasons for which an address is not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum AddressError {
    #[error("address is longer than {MAX_ADDRESS} bytes")]
    TooLong,
    #[error("address is no URL: {0}")]
    Malformed(#[from] url::ParseError),
    #[error("protocol {0} is not supported")]
    Scheme(String),
}

/// The questions of one judgement.
pub(super) struct Inquiry<'a> {
    answers: &'a Answers,
    open: BTreeSet<Question>,
}

impl<'a> Inquiry<'a> {
    pub(super) fn new(answers: &'a Answers) -> Self {
        Inquiry { answers, open: BTreeSet::new() }
    }

    /// The answer to a question, which is put down if there is none.
    pub(super) fn ask(&mut self, question: Question) -> Result<&'a [u8], Unanswered> {
        match self.answers.0.get(&question) {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(why)) => Err(Unanswered::Failed(why.clone())),
            None if self.answers.0.len() + self.open.len() >= MAX_QUESTIONS => Err(Unanswered::TooMany),
            None => {
                self.open.insert(question);
                Err(Unanswered::Pending)
            }
        }
    }

    /// Returns true when the judgement cannot be made yet.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn into_questions(self) -> Vec<Question> {
        self.open.into_iter().collect()
    }
}

/// Returns the address of a server, of plain HTTP: its answers are signed, and the authority of a TLS certificate
/// might be the one in question. A user or password in it is not ours to send.
pub(super) fn address(text: &str) -> Result<Url, AddressError> {
    if text.len() > MAX_ADDRESS {
        return Err(AddressError::TooLong);
    }
    let mut url = Url::parse(text)?;
    if url.scheme() != "http" {
        return Err(AddressError::Scheme(url.scheme().to_owned()));
    }
    // Neither fails for a URL with a host, and those of HTTP have one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http://a.test/x", Ok("http://a.test/x"))]
    #[case("HTTP://a.test", Ok("http://a.test/"))]
    #[case("http://user:word@a.test/x", Ok("http://a.test/x"))]
    #[case("https://a.test", Err(AddressError::Scheme("https".into())))]
    #[case("ldap://a.test/x", Err(AddressError::Scheme("ldap".into())))]
    #[case("file:///etc/passwd", Err(AddressError::Scheme("file".into())))]
    #[case("a.test", Err(AddressError::Malformed(url::ParseError::RelativeUrlWithoutBase)))]
    fn addresses(#[case] text: &str, #[case] expected: Result<&str, AddressError>) {
        assert_eq!(address(text).map(String::from), expected.map(str::to_owned));
        assert_eq!(
            address(&format!("http://a.test/{}", "a".repeat(MAX_ADDRESS))),
            Err(AddressError::TooLong)
        );
    }

    fn question(number: usize) -> Question {
        let url = format!("http://a.test/{number}");
        Question { url, max_answer: 1, timeout: Duration::from_secs(1) }
    }

    #[test]
    fn what_is_lacking_is_put_down_until_it_is_too_much() {
        let mut answers = Answers::default();
        answers.note(question(0), Ok(b"yes".to_vec()));
        answers.note(question(1), Err("gone".into()));
        let mut inquiry = Inquiry::new(&answers);
        assert_eq!(inquiry.ask(question(0)), Ok(&b"yes"[..]));
        assert_eq!(inquiry.ask(question(1)), Err(Unanswered::Failed("gone".into())));
        assert!(!inquiry.is_open());
        for number in 2..MAX_QUESTIONS {
            assert_eq!(inquiry.ask(question(number)), Err(Unanswered::Pending));
        }
        assert_eq!(inquiry.ask(question(MAX_QUESTIONS)), Err(Unanswered::TooMany));
        assert_eq!(inquiry.into_questions().len(), MAX_QUESTIONS - 2);
    }
}
