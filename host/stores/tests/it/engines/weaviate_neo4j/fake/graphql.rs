//! A parser for the subset of GraphQL (October 2021) that Weaviate queries use: one operation with fields, arguments
//! and values. Errors resemble those of a real server.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) arguments: BTreeMap<String, Value>,
    pub(super) fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(f64),
    /// Enum value, boolean or null.
    Word(String),
    List(Vec<Value>),
    Object(BTreeMap<String, Value>),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(f64),
    Sign(char),
}

pub(super) fn parse(document: &str) -> Result<Vec<Field>, String> {
    let mut reader = Reader { tokens: tokens(document)?, next: 0, depth: 0 };
    if reader.peek() == Some(&Token::Name("query".into())) {
        reader.next += 1;
    }
    let fields = reader.selection()?;
    match reader.peek() {
        None => Ok(fields),
        Some(token) => Err(format!("Syntax Error GraphQL: Unexpected {token:?}")),
    }
}

struct Reader {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Result<Token, String> {
        let token = self.peek().cloned().ok_or("Syntax Error GraphQL: Unexpected EOF")?;
        self.next += 1;
        Ok(token)
    }

    fn is(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.next += usize::from(found);
        found
    }

    fn sign(&mut self, sign: char) -> Result<(), String> {
        if self.is(sign) {
            Ok(())
        } else {
            Err(format!("Syntax Error GraphQL: Expected {sign}, found {:?}", self.peek()))
        }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.take()? {
            Token::Name(name) => Ok(name),
            other => Err(format!("Syntax Error GraphQL: Expected Name, found {other:?}")),
        }
    }

    fn selection(&mut self) -> Result<Vec<Field>, String> {
        self.depth += 1;
        if self.depth > 32 {
            return Err("Syntax Error GraphQL: too deep".into());
        }
        self.sign('{')?;
        let mut fields = vec![self.field()?];
        while !self.is('}') {
            fields.push(self.field()?);
        }
        self.depth -= 1;
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, String> {
        let name = self.name()?;
        let mut arguments = BTreeMap::new();
        if self.is('(') {
            arguments = self.pairs(')')?;
        }
        let fields = if self.peek() == Some(&Token::Sign('{')) { self.selection()? } else { Vec::new() };
        Ok(Field { name, arguments, fields })
    }

    fn pairs(&mut self, end: char) -> Result<BTreeMap<String, Value>, String> {
        let mut pairs = BTreeMap::new();
        while !self.is(end) {
            let name = self.name()?;
            self.sign(':')?;
            let value = self.value()?;
            if pairs.insert(name.clone(), value).is_some() {
                return Err(format!("There can be only one argument named \"{name}\"."));
            }
        }
        Ok(pairs)
    }

    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > 32 {
            return Err("Syntax Error GraphQL: too deep".into());
        }
        let value = match self.take()? {
            Token::Text(text) => Value::Text(text),
            Token::Number(number) => Value::Number(number),
            Token::Name(word) => Value::Word(word),
            Token::Sign('[') => {
                let mut values = Vec::new();
                while !self.is(']') {
                    values.push(self.value()?);
                }
                Value::List(values)
            }
            Token::Sign('{') => Value::Object(self.pairs('}')?),
            other => return Err(format!("Syntax Error GraphQL: Unexpected {other:?}")),
        };
        self.depth -= 1;
        Ok(value)
    }
}

fn tokens(document: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = document.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        match c {
            ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' => at += 1,
            '{' | '}' | '(' | ')' | '[' | ']' | ':' => {
                tokens.push(Token::Sign(c));
                at += 1;
            }
            '"' => {
                let (text, end) = string(&chars, at + 1)?;
                tokens.push(Token::Text(text));
                at = end;
            }
            '-' | '0'..='9' => {
                let end = at
                    + chars[at..].iter().take_while(|c| c.is_ascii_digit() || "+-.eE".contains(**c)).count();
                let text: String = chars[at..end].iter().collect();
                let digits = text.trim_start_matches('-');
                let leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
                let number = text.parse().ok().filter(|_| !leading_zero && !digits.starts_with('.'));
                tokens.push(Token::Number(
                    number.ok_or(format!("Syntax Error GraphQL: Invalid number {text}"))?,
                ));
                at = end;
            }
            '_' | 'a'..='z' | 'A'..='Z' => {
                let end =
                    at + chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
                tokens.push(Token::Name(chars[at..end].iter().collect()));
                at = end;
            }
            other => return Err(format!("Syntax Error GraphQL: Unexpected character {other:?}")),
        }
    }
    Ok(tokens)
}

fn string(chars: &[char], mut at: usize) -> Result<(String, usize), String> {
    let mut text = String::new();
    loop {
        let c = *chars.get(at).ok_or("Syntax Error GraphQL: Unterminated string")?;
        at += 1;
        match c {
            '"' => return Ok((text, at)),
            '\\' => {
                let escaped = *chars.get(at).ok_or("Syntax Error GraphQL: Unterminated string")?;
                at += 1;
                text.push(match escaped {
                    '"' | '\\' | '/' => escaped,
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        let digits: String = chars.iter().skip(at).take(4).collect();
                        at += 4;
                        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        code.ok_or("Syntax Error GraphQL: Invalid character escape sequence")?
                    }
                    other => {
                        return Err(format!(
                            "Syntax Error GraphQL: Invalid character escape sequence: \\{other}"
                        ));
                    }
                });
            }
            c if c < ' ' && c != '\t' => {
                return Err("Syntax Error GraphQL: Invalid character within String".into());
            }
            c => text.push(c),
        }
    }
}
