import Atto
import Store

/// `--store` and `--no-store`: where bonds and databases are kept.
struct StoreOptions: Sendable {
  static let specs = [
    OptionSpec("store", "FILE", "where bonds and databases are kept ($ATTO_STORE)"),
    OptionSpec("no-store", nil, "keep and use nothing that is kept"),
  ]

  let isOff: Bool
  private let path: String?

  init(_ arguments: Arguments) throws {
    path = arguments.value("store")
    isOff = arguments.has("no-store")
    if path != nil, isOff { throw UsageError("--store and --no-store exclude each other") }
    if path == "" { throw UsageError("--store wants the name of a file") }
  }

  /// Opens the store for one who cannot do without.
  func open(creates: Bool = true) throws -> StoreFile {
    if isOff { throw UsageError("this wants the store, and --no-store forbids it") }
    let store = try StoreFile(path: path, creates: creates)
    for notice in store.notices { Terminal.note(notice) }
    return store
  }

  /// Opens the store for one who can do without. What is wrong with a file that was named, or with
  /// one that is there, is an error even so; a machine on which nothing can be kept is not.
  func openIfPossible(creates: Bool) throws -> StoreFile? {
    if isOff { return nil }
    do {
      return try open(creates: creates)
    } catch StoreError.missing where !creates {
      return nil
    } catch let error as StoreError {
      switch error {
      case .libraryMissing, .noPlace, .system:
        if path != nil { throw error }
        Terminal.note("bonds are not kept: \(error)")
        return nil
      default: throw error
      }
    }
  }

  /// Says what could not be kept.
  static func report(_ error: StoreError) { Terminal.note("\(error)") }
}
