import Atto

/// How tests are carried out.
struct BenchPlan: Sendable {
  var tests: [BenchTest] = [.read]
  /// Octets of each value that is written, notified or indicated.
  var size = 20
  /// Until a test ends; nil: when there are enough.
  var time: Duration? = .seconds(3)
  /// Operations or values until a test ends.
  var count: Int?
  /// Not counted before a test.
  var warmUp: Duration = .milliseconds(300)
  /// What to use, if not what suits first.
  var handle: AttributeHandle?

  static let options = [
    OptionSpec("test", "TEST", "what to measure; again for more, or \"all\" (read)"),
    OptionSpec("size", "OCTETS", "of values written, notified, indicated: 4 to 512 (20)"),
    OptionSpec("seconds", "SECONDS", "how long each test takes (3)"),
    OptionSpec("count", "N", "end each test after so many instead"),
    OptionSpec("warm-up", "SECONDS", "before each test, not counted (0.3)"),
    OptionSpec("handle", "HANDLE", "the characteristic's value to use"),
  ]

  init(_ arguments: Arguments) throws {
    let words = arguments.all("test").flatMap { $0.split(separator: ",").map(String.init) }
    if words.contains("all") {
      tests = BenchTest.allCases
    } else if !words.isEmpty {
      tests = try words.map { word in
        guard let test = BenchTest(rawValue: word) else {
          let names = BenchTest.allCases.map(\.rawValue).joined(separator: ", ")
          throw UsageError("--test wants one of \(names) or all, not \"\(word)\"")
        }
        return test
      }
    }
    size = try arguments.integer("size", in: 4...512) ?? size
    count = try arguments.integer("count", in: 1...1_000_000_000)
    let seconds = try arguments.duration("seconds")
    time = seconds ?? (count == nil ? time : nil)
    if arguments.value("warm-up") == "0" {
      warmUp = .zero
    } else {
      warmUp = try arguments.duration("warm-up") ?? warmUp
    }
    handle = try arguments.value("handle").map { try AttributeHandle(argument: $0) }
    if handle != nil, tests.count > 1 {
      throw UsageError("--handle is for one --test at a time")
    }
  }
}
