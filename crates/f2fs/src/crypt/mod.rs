//! fscrypt: keys, contents and names.
