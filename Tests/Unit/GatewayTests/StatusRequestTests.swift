import TestSupport
import Testing

@testable import AttoGateway

@Suite("Requests for the status", .oneByOne) struct StatusRequestTests {
  static let body = "question=0123456789abcdef&answer=123456"

  static func post(_ fields: [String], _ body: String = Self.body) throws -> StatusRequest? {
    let lines = ["POST /pair HTTP/1.1", "Host: 192.0.2.7:9273"] + fields
    return try StatusRequest(
      Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8), isLocal: false)
  }

  static var length: String { "Content-Length: \(body.utf8.count)" }

  @Test func anAnswer() throws {
    // me:correct-horse-battery
    let authorization = "Authorization: Basic bWU6Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5"
    let request = try #require(try Self.post([Self.length, authorization]))
    #expect(request.page == .answer(question: "0123456789abcdef", "123456"))
    #expect(request.has("correct-horse-battery"))
    for token in ["correct-horse-batterx", "correct-horse-batter", "correct-horse-battery1", ""] {
      #expect(!request.has(token))
    }
    let without = try #require(try Self.post([Self.length]))
    #expect(!without.has("") && !without.has("correct-horse-battery"))
  }

  @Test func theBodyIsAwaited() throws {
    #expect(try Self.post([Self.length], String(Self.body.dropLast())) == nil)
  }

  @Test(arguments: [
    ["Origin: http://192.0.2.7:9273"], ["origin:http://192.0.2.7:9273 "], [],
    ["Sec-Fetch-Site: same-origin", "Origin: https://hall.example"],
  ])
  func itsOwnPage(fields: [String]) throws {
    #expect(try Self.post([Self.length] + fields) != nil)
  }

  @Test(arguments: [
    ["Origin: null"], ["Origin: http://192.0.2.7"], ["Origin: https://192.0.2.7:9273"],
    ["Origin: http://192.0.2.7:9273.evil.example"], ["Origin:"], ["Sec-Fetch-Site: none"],
    ["Sec-Fetch-Site: cross-site", "Origin: http://192.0.2.7:9273"],
  ])
  func otherOrigins(fields: [String]) {
    #expect(throws: StatusRequest.Refusal.forbidden) { try Self.post([Self.length] + fields) }
  }

  @Test func repeatedFieldsAreRefused() {
    for field in ["Origin: http://192.0.2.7:9273", Self.length, "Sec-Fetch-Site: same-origin"] {
      #expect(throws: StatusRequest.Refusal.badRequest) {
        try Self.post([field, field] + (field == Self.length ? [] : [Self.length]))
      }
    }
  }

  @Test(arguments: [
    "", "question=1", "question=1&answer=2&more=3", "question=1&question=1",
    "question=1&answer=2=3",
    "&&&", "answer&question",
  ])
  func otherForms(body: String) {
    #expect(throws: StatusRequest.Refusal.badRequest) {
      try Self.post(["Content-Length: \(body.utf8.count)"], body)
    }
  }
}
