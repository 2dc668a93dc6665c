import ATT
import Files
import GATT

/// The parser of profiles, and what is made of them. The input is a file.
///
/// Rules: a mistake is told with a place in the text and with words; a profile that is read can be
/// laid out, or is told why not; its layout has rising handles and values in their limits; the
/// database that is built holds the layout's attributes and values, attribute by attribute; the
/// same text gives the same profile.
enum ProfileTarget {
  static func take(_ input: [UInt8]) {
    let profile: Profile
    do throws(ProfileError) {
      profile = try Profile(json: input)
    } catch { return check(error, input) }
    do throws(ProfileError) {
      Failure.unless(try Profile(json: input) == profile, "one text, one profile")
      let built = try profile.database()
      let layout = built.layout
      Failure.unless(
        built.database.count >= layout.attributes.count, "the database has what was laid out",
        "\(built.database.count), not \(layout.attributes.count)")
      for (former, next) in zip(layout.attributes, layout.attributes.dropFirst()) {
        Failure.unless(former.handle < next.handle, "handles rise", "\(next.handle)")
      }
      for attribute in layout.attributes { check(attribute, built) }
      for (former, next) in zip(layout.services, layout.services.dropFirst()) {
        Failure.unless(former.range.end < next.range.start, "services lie beside each other")
      }
    } catch {
      Failure.unless(
        !error.expected.isEmpty && !"\(error)".isEmpty, "a mistake is told with words", "\(error)")
    }
    if let moved = try? profile.definitions(from: 0xFFF0) {
      // Whatever does not fit is refused by the database, all of it.
      var database = Database()
      for service in moved {
        let before = database.count
        do throws(DatabaseError) {
          try database.add(service)
        } catch {
          Failure.unless(database.count == before, "half a service is not added", "\(error)")
        }
      }
    }
  }

  private static func check(_ attribute: ProfileLayout.Attribute, _ built: ProfileDatabase) {
    Failure.unless(
      built.database.type(of: attribute.handle) == attribute.type,
      "the database has what was laid out", "\(attribute)")
    switch attribute.content {
    case .value(let storage, _, _), .descriptor(let storage), .clientConfiguration(let storage):
      Failure.unless(
        storage.bytes.count <= storage.maxLength && storage.maxLength <= 512,
        "values keep their limits", "\(attribute)")
    default: break
    }
  }

  private static func check(_ error: ProfileError, _ input: [UInt8]) {
    Failure.unless(
      !error.expected.isEmpty && !error.found.isEmpty, "a mistake is told with words", "\(error)")
    if let position = error.position {
      let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false).count
      Failure.unless(
        (1...lines).contains(position.line) && position.column >= 1,
        "a mistake is in the text", "\(error)")
    }
    Failure.unless("\(error)".utf8.count < 4096, "a message can be read", "\(error)")
  }
}
