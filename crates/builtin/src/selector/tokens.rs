//! Splits a label selector into tokens.

/// What a token is. Words keep their text beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    GreaterThan,
    Word,
    In,
    LessThan,
    NotEquals,
    NotIn,
    Open,
}

/// All tokens with their texts, [`Token::End`] last.
pub(super) fn tokens(selector: &str) -> Vec<(Token, String)> {
    // The real server takes a zero byte for the end.
    let mut rest = selector.split('\0').next().unwrap_or_default();
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let length = token_length(rest);
        let (text, after) = rest.split_at(length);
        rest = after;
        let token = token(text);
        tokens.push((token, text.to_owned()));
        if token == Token::End {
            return tokens;
        }
    }
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

/// Symbols are as long as they mean something; words reach to the next symbol or blank.
fn token_length(text: &str) -> usize {
    if !text.starts_with(is_symbol) {
        let end = |c: char| is_symbol(c) || matches!(c, ' ' | '\t' | '\r' | '\n');
        return text.find(end).unwrap_or(text.len());
    }
    ["==", "!="]
        .iter()
        .find(|symbol| text.starts_with(**symbol))
        .map_or(1, |symbol| symbol.len())
}

fn token(text: &str) -> Token {
    match text {
        "" => Token::End,
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::GreaterThan,
        "in" => Token::In,
        "<" => Token::LessThan,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => Token::Word,
    }
}
