extension Unicode.Scalar {
  /// Whether a terminal shows the scalar as a character of its own and in its place.
  ///
  /// Not so: C0, DEL and C1 controls, line and paragraph separators, marks that change the direction of
  /// text, characters without a width, and what Unicode has not assigned. The selectors of emoji are
  /// allowed.
  package var isPrintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
    default: !properties.isDefaultIgnorableCodePoint || properties.isVariationSelector
    }
  }
}

extension String {
  /// The text as a part of one line: scalars that are not printable are escaped as `\u{1B}`.
  package var printable: String {
    escaping { "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
  }

  /// JSON text with the same scalars escaped as `\u001b`. In JSON without line breaks they occur in
  /// strings only, so the value does not change.
  package var printableJSON: String {
    escaping { scalar in
      String(scalar).utf16.map {
        "\\u" + String(0x1_0000 | UInt32($0), radix: 16).dropFirst()
      }.joined()
    }
  }

  /// The text for XML and HTML: markup is escaped, and so is what is not printable, some of which XML
  /// forbids.
  package var escapedForMarkup: String {
    var out = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "\n": out += "&#10;"
      default: out += String(scalar).printable
      }
    }
    return out
  }

  private func escaping(_ escape: (Unicode.Scalar) -> String) -> String {
    // Most text is printable ASCII.
    if utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return self }
    var out = ""
    for scalar in unicodeScalars {
      if scalar.isPrintable { out.unicodeScalars.append(scalar) } else { out += escape(scalar) }
    }
    return out
  }
}
