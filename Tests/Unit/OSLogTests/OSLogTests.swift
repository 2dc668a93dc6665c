import Foundation
import TestSupport
import Testing

@testable import AttoOS

@Suite(.sideBySide) struct OSLogTests {
  @Test func linesAreOneLine() {
    #expect(
      LogLine.text(.error, "com.example", "radio", "lost", at: "T")
        == "T error   com.example:radio: lost\n")
    #expect(
      LogLine.text(.default, "", "", "a\nb\u{1B}[2J", at: "T") == "T notice  a\\nb\\u{1B}[2J\n")
    #expect(LogLine.text(.debug, "a\nb", "", "é", at: "T") == "T debug   a\\nb: é\n")
    let long = LogLine.text(.info, "", "", String(repeating: "x", count: 20_000), at: "T")
    #expect(long.hasSuffix("x ... (3616 octets more)\n"))
    #expect(LogLine.now().count == "2026-11-21 09:23:15.123".count)
  }

  @Test func interpolates() {
    func text(_ message: OSLogMessage) -> String { message.text }
    let name = "strap"
    let error: any Error = CocoaError(.fileNoSuchFile)
    #expect(text("plain") == "plain")
    #expect(text("\(name) \(1) \(true) \(1.5)") == "strap 1 true 1.500000")
    #expect(
      text("\(255, format: .hex) \(255, format: .hex(includePrefix: true, uppercase: true))")
        == "ff 0xFF")
    #expect(text("\(-7, format: .decimal(explicitPositiveSign: true, minDigits: 3))") == "-007")
    #expect(text("\(8, format: .octal(includePrefix: true))") == "0o10")
    #expect(text("\(1.0 / 3, format: .fixed(precision: 2)) \(false, format: .answer)") == "0.33 no")
    #expect(
      text("[\(name, align: .right(columns: 7))][\(name, align: .left(columns: 7))]")
        == "[  strap][strap  ]")
    #expect(text("\(name, privacy: .private) \(name, privacy: .public)") == "<private> strap")
    #expect(text("\(name, privacy: .sensitive(mask: .hash))").hasPrefix("<mask.hash: "))
    #expect(text("\(UInt8.self) \(error)").hasPrefix("Swift.UInt8 "))
    #expect(text("\([1, 2])") == "[1, 2]")
  }

  @Test func formatsAsPrintfDoes() {
    func text(_ format: String, _ values: Any?...) -> String {
      FormattedText(format, values).text
    }
    #expect(
      text("%d of %u, %5d|%-5d|%05d", 3, 7 as UInt8, 42, 42, -42) == "3 of 7,    42|42   |-0042")
    #expect(text("%x %X %#x %02x %p", 255, 255, 255, 7, 16) == "ff FF 0xff 07 0x10")
    #expect(text("%x", -1 as Int32) == "ffffffff")
    #expect(text("%.2f %@ %{public}@ %s", 1.239, "a", "b", "c") == "1.24 a b c")
    #expect(text("%{private}@ %{public,uuid_t}@", "secret", "open") == "<private> open")
    #expect(text("100 %% %lld %zu", 1 as Int64, 2 as UInt) == "100 % 1 2")
    // A value that does not fit is formatted by its description, and a missing one as <missing>.
    #expect(text("%d %d", 1) == "1 <missing>")
    #expect(text("%d %s %f", "text", 1, "x") == "text 1 x")
    #expect(text("%@ %@", nil, Optional("there")) == "(null) there")
    #expect(text("%") == "%")
    #expect(text("%{") == "%")
    #expect(text("%*d|%.3s", 4, 1, "abcdef") == "   1|abc")
    #expect(text("%9999999999d", 1).count == 1024)
  }

  @Test func lowerLevelsAreHidden() {
    #expect(OSLogType.allInOrder.map(\.rank) == [0, 1, 2, 3, 4])
    #expect(!OSLog.disabled.isEnabled(type: .fault))
    var wasMade = false
    OSLog.disabled.write(.fault) {
      wasMade = true
      return ""
    }
    #expect(!wasMade)
  }

  @Test func locks() async {
    let lock = OSAllocatedUnfairLock(initialState: 0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<1000 { lock.withLock { $0 += 1 } } }
      }
    }
    #expect(lock.withLock { $0 } == 8000)
    lock.precondition(.notOwner)
    let plain = OSAllocatedUnfairLock()
    plain.lock()
    plain.precondition(.owner)
    #expect(!plain.lockIfAvailable())
    plain.unlock()
    #expect(plain.withLock { 5 } == 5)
  }

  @Test func unfairLocks() async {
    let lock = UnfairLock()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<5000 { lock.increment() } }
      }
    }
    #expect(lock.count == 40_000)
    #expect(lock.triesTwice() == (true, false))
    await #expect(processExitsWith: .failure) { UnfairLock().locksTwice() }
    await #expect(processExitsWith: .failure) { UnfairLock().unlocks() }
  }

  @Test func countsInASession() {
    let session = Session()
    #expect(session.count("a") == 1)
    #expect(session.count("a") == 2)
  }
}

extension OSLogType {
  fileprivate static var allInOrder: [OSLogType] { [.debug, .info, .default, .error, .fault] }
}
