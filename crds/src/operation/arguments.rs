//! `extraArgs`: a command line of `ansible-playbook`, by the rules of the shell and of Python's argparse.

use std::collections::VecDeque;

use super::options::{OPTIONS, OptionValue, find};
use super::{ExtraVar, ExtraVars, Placed};
use crate::decode::Decoder;
use crate::shell::{self, At, Letter, SplitFault, What, Word};
use crate::words::{quote, with_nearest};
use crate::{Notice, Problem, Source};

/// Linux takes no argument of a program that is longer (`MAX_ARG_STRLEN`); this text is one to `bash -c`.
const MAX_BYTES: usize = 128 << 10;

/// What the arguments of an action say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// Variables, in the order in which they are given: the later one wins.
    pub extra_vars: Vec<ExtraVars>,
    /// Pattern of the hosts to which the action is limited.
    pub limit: Option<Placed>,
    /// Tags to which the action is limited; see [`Arguments::tasks`].
    pub tags: Vec<Placed>,
    /// Tags that are left out.
    pub skip_tags: Vec<Placed>,
    /// On how many hosts something is done at the same time.
    pub forks: Option<u32>,
    /// Whether nothing is to be changed.
    pub check: bool,
    /// Whether differences are to be shown.
    pub diff: bool,
    /// How much is to be said: 0 for the usual.
    pub verbosity: u8,
    /// Login of hosts that name none themselves.
    pub user: Option<Placed>,
    /// Path of the private key of hosts that name none themselves.
    pub private_key_file: Option<Placed>,
}

impl Arguments {
    /// Reads a command line of `ansible-playbook`, and says what of it does nothing here.
    ///
    /// # Errors
    /// Everything that is wrong with it, in its order.
    pub fn parse(source: &Source) -> Result<(Self, Vec<Notice>), Vec<Problem>> {
        let mut decoder = Decoder::default();
        let arguments = read(source, &mut decoder);
        let notices = decoder.take_notices();
        let (problems, _) = decoder.finish();
        if problems.is_empty() { Ok((arguments, notices)) } else { Err(problems) }
    }

    /// The variable of that name, as the last `-e` sets it. Files that are named there are not looked into.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&ExtraVar> {
        let mut named = self.extra_vars.iter().filter_map(|vars| match vars {
            ExtraVars::Named(variable) => Some(variable),
            ExtraVars::File(_) => None,
        });
        named.rfind(|variable| variable.name == name)
    }

    /// The pattern of the nodes that an action is about, as `remove-node` takes it.
    #[must_use]
    pub fn node(&self) -> Option<Placed> {
        let variable = self.variable("node")?;
        Some(Placed { text: variable.text()?.to_owned(), position: variable.position.clone() })
    }
}

/// Reads a command line.
pub(crate) fn read(source: &Source, decoder: &mut Decoder) -> Arguments {
    let mut arguments = Arguments::default();
    if source.text.len() > MAX_BYTES {
        let problem = Problem::new(format!("`{}` is {} bytes long", source.name, source.text.len())).at(&source.position(1, 1));
        decoder
            .report(problem.because(format!("more than {MAX_BYTES} bytes are no command line")).hint("put variables into the ConfigMap"));
        return arguments;
    }
    match shell::split(&source.text) {
        Ok(words) => Reader { words: words.into(), source, arguments: &mut arguments, decoder }.all(),
        Err(faults) => faults.iter().for_each(|fault| decoder.report(explained(fault, source))),
    }
    arguments
}

fn explained(fault: &SplitFault, source: &Source) -> Problem {
    let (line, column) = fault.place;
    let name = &source.name;
    let problem = match fault.what {
        What::OpenQuote(quote) => Problem::new(format!("a quote is not closed: {quote}"))
            .because(format!("`{name}` is read as a shell reads it"))
            .hint("close it, or put it into quotes of the other kind"),
        What::LastBackslash => Problem::new(format!("`{name}` ends with a backslash"))
            .because("it takes away the meaning of a character that follows")
            .hint("leave it out, or write it twice if a backslash is meant"),
        What::Replaced(character) => Problem::new(format!("a shell would put something else in the place of \"{character}\""))
            .because("no shell runs here, and nothing else could be put in its place")
            .hint("if it is meant as it stands, put it into single quotes, or a `\\` before it"),
        What::Operator(character) => Problem::new(format!("\"{character}\" would end or redirect the command"))
            .because(format!("`{name}` has the arguments of one action"))
            .hint("if it is meant as it stands, put it into quotes; further actions are hooks"),
        What::Comment => Problem::new(format!("a `#` begins a comment within `{name}`"))
            .because("a shell would not read what follows")
            .hint("put it into quotes, or leave it out"),
    };
    problem.at(&source.position(line, column))
}

struct Reader<'a> {
    words: VecDeque<Word>,
    source: &'a Source,
    arguments: &'a mut Arguments,
    decoder: &'a mut Decoder,
}

impl Reader<'_> {
    fn all(mut self) {
        while let Some(word) = self.words.pop_front() {
            let text = word.text();
            match text.as_str() {
                "--" => {
                    while let Some(word) = self.words.pop_front() {
                        self.positional(&word);
                    }
                }
                _ if text.starts_with("--") => self.long(&word, &text),
                _ if text.starts_with('-') && text.len() > 1 => self.short(&word),
                _ => self.positional(&word),
            }
        }
    }

    /// Not repeated in the message: it may be the second half of a password.
    fn positional(&mut self, word: &Word) {
        let problem = Problem::new("a word belongs to no option").at(&self.position(word.place));
        let because = format!("`{}` has options only; the playbook stands in `action`", self.source.name);
        self.decoder.report(problem.because(because).hint("if it belongs to the value before it, put both into one pair of quotes"));
    }

    fn long(&mut self, word: &Word, text: &str) {
        let name = text.split('=').next().unwrap_or_default();
        let length = name.chars().count();
        let attached = word.letters.get(length + 1..).filter(|_| text.contains('='));
        self.option(name, word.place, attached);
    }

    /// `-C`, `-f5`, `-vvb`: letters, of which the first with a value takes the rest of the word.
    fn short(&mut self, word: &Word) {
        let mut rest = word.letters.get(1..).unwrap_or_default();
        while let Some((first, behind)) = rest.split_first() {
            let name = format!("-{}", first.character);
            let takes = find(&name).is_ok_and(|option| option.meaning.takes_value());
            let known = find(&name).is_ok();
            let attached = (takes && !behind.is_empty()).then_some(behind);
            let attached = attached.map(|letters| match letters {
                [first, rest @ ..] if first.character == '=' => rest,
                all => all,
            });
            self.option(&name, first.place, attached);
            // Behind an unknown letter nobody knows what is meant.
            rest = if takes || !known { &[] } else { behind };
        }
    }

    fn option(&mut self, name: &str, place: At, attached: Option<&[Letter]>) {
        let option = match find(name) {
            Ok(option) => option,
            Err(candidates) => return self.unknown(name, place, &candidates),
        };
        if !option.meaning.takes_value() {
            if attached.is_some() {
                let problem = Problem::new(format!("`{name}` takes no value")).at(&self.position(place));
                return self.decoder.report(problem.because("it stands alone").hint(format!("write `{name}`")));
            }
            let given = OptionValue { option: name, letters: &[], begin: place, source: self.source };
            return option.apply(&given, self.arguments, self.decoder);
        }
        let next = if attached.is_none() { self.value() } else { None };
        let Some(letters) = attached.or(next.as_ref().map(|word| word.letters.as_slice())) else {
            let problem = Problem::new(format!("`{name}` has no value")).at(&self.position(place));
            let problem = problem.because("it takes the word that follows, which may not begin with `-`");
            return self.decoder.report(problem.hint(format!("write `{name} VALUE`, or `{name}=VALUE` where that begins with `-`")));
        };
        let begin = letters.first().map_or(next.as_ref().map_or(place, |word| word.place), |letter| letter.place);
        let given = OptionValue { option: name, letters, begin, source: self.source };
        option.apply(&given, self.arguments, self.decoder);
    }

    /// The next word, unless it is an option.
    fn value(&mut self) -> Option<Word> {
        let dash = self.words.front()?.letters.first().is_some_and(|letter| letter.character == '-');
        let alone = self.words.front()?.letters.len() == 1;
        if dash && !alone { None } else { self.words.pop_front() }
    }

    fn unknown(&mut self, name: &str, place: At, candidates: &[&str]) {
        let problem = Problem::new(format!("unknown option {}", quote(name))).at(&self.position(place));
        if !candidates.is_empty() {
            return self.decoder.report(problem.because(format!("it may be one of {}", candidates.join(", "))).hint("write it out"));
        }
        let known: Vec<&str> = OPTIONS.iter().flat_map(|option| option.names).copied().filter(|name| name.len() > 2).collect();
        let problem = problem.because(format!("`{}` has the options of ansible-playbook", self.source.name));
        // One letter is near to every other.
        const OTHERWISE: &str = "leave it out; what belongs to the value before it goes into one pair of quotes with it";
        self.decoder.report(if name.starts_with("--") { with_nearest(problem, name, &known, OTHERWISE) } else { problem.hint(OTHERWISE) });
    }

    fn position(&self, (line, column): At) -> crate::Position {
        self.source.position(line, column)
    }
}
