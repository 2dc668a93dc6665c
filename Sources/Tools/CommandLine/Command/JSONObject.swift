/// A JSON object. Fields that are nil are left out.
package struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
  private var fields: [String: JSONValue] = [:]

  package init(dictionaryLiteral fields: (String, (any Encodable)?)...) { self.init(fields) }

  package init(_ fields: [(String, (any Encodable)?)]) {
    for (name, value) in fields { self.fields[name] = value.map { JSONValue(value: $0) } }
  }

  package func adding(_ more: JSONObject) -> JSONObject {
    var sum = self
    sum.fields.merge(more.fields) { _, new in new }
    return sum
  }

  package func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }
}

/// A value of any type.
struct JSONValue: Encodable {
  let value: any Encodable

  func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}
