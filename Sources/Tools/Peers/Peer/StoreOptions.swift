import Atto
import AttoCommandLine
import AttoStore

/// `--store` and `--no-store`: the file of bonds and databases.
package struct StoreOptions: Sendable {
  package static let store = Option.file(
    "store", "FILE", "Save bonds and databases in FILE (default: $ATTO_STORE, see atto bonds).")
  static let noStore = Option.flag("no-store", "Neither use nor save bonds and databases.")
  package static let group = OptionGroup("store options", [store, noStore])

  let isOff: Bool
  private let path: String?

  package init(_ arguments: Arguments) throws(UsageError) {
    path = arguments[Self.store]
    isOff = arguments[Self.noStore]
    if path != nil, isOff { throw UsageError("--store cannot be combined with --no-store") }
  }

  /// Opens the store for a command that requires it.
  package func open(creates: Bool = true) async throws -> StoreFile {
    if isOff { throw UsageError("this requires the store: --no-store cannot be used") }
    let store = try await StoreFile(path: path, creates: creates)
    for notice in store.notices { Terminal.note(notice) }
    return store
  }

  /// Opens the store for a command that works without it. A wrong file is still an error; a machine
  /// where nothing can be saved is not, unless `--store` names a file.
  package func openIfPossible(creates: Bool) async throws -> StoreFile? {
    if isOff { return nil }
    do {
      return try await open(creates: creates)
    } catch StoreError.missing where !creates {
      return nil
    } catch let error as StoreError {
      switch error {
      case .libraryMissing, .noPlace, .system:
        if path != nil { throw error }
        Terminal.note("warning: bonds are not saved: \(error)")
        return nil
      default: throw error
      }
    }
  }

  package static func report(_ error: StoreError) { Terminal.note("warning: \(error)") }
}
