import AttoATT
import AttoFormats
import AttoGATT

/// Profiles. The input is a file.
///
/// Rules: an error has a position and a text; a profile that was read has a layout or an error; handles
/// increase and values are within their limits; the database has the attributes of the layout; the same
/// text gives the same profile.
enum ProfileTarget {
  static func take(_ input: [UInt8]) {
    let profile: Profile
    do throws(ProfileError) {
      profile = try Profile(json: input)
    } catch { return check(error, input) }
    do throws(ProfileError) {
      Failure.unless(try Profile(json: input) == profile, "the same text gives the same profile")
      let layout = try profile.layout()
      check(layout.services, try layout.database())
    } catch {
      Failure.unless(
        !error.expected.isEmpty && !"\(error)".isEmpty, "an error has a text", "\(error)")
    }
    if let added = try? profile.layout(from: 0xFFF0) {
      // The database adds a service as a whole or not at all.
      var database = Database()
      for service in added.services {
        let before = database.count
        do throws(DatabaseError) {
          try database.add(service)
        } catch {
          Failure.unless(
            database.count == before, "a service is added whole or not at all", "\(error)")
        }
      }
    }
  }

  /// Checks the order of the handles, the types in the database, and the limits of stored values.
  private static func check(_ services: [ServiceDefinition], _ database: Database) {
    var last = AttributeHandle.invalid
    func check(_ handle: AttributeHandle?, _ type: BluetoothUUID, _ value: ValueDefinition? = nil) {
      guard let handle else { return Failure.unless(false, "every attribute has a handle") }
      Failure.unless(last < handle, "handles increase", "\(handle)")
      last = handle
      Failure.unless(
        database.type(of: handle) == type, "the database has the layout's attributes", "\(handle)")
      if case .stored(let octets, let limits) = value {
        Failure.unless(
          octets.count <= limits.maximumLength, "values are within their limits", "\(handle)")
      }
    }
    for service in services {
      check(service.handle, service.isPrimary ? .primaryService : .secondaryService)
      for include in service.includes { check(include.handle, .include) }
      for characteristic in service.characteristics {
        check(characteristic.handle, .characteristic)
        check(characteristic.valueHandle, characteristic.uuid, characteristic.value)
        for descriptor in characteristic.descriptors {
          check(descriptor.handle, descriptor.uuid, descriptor.value)
        }
      }
      Failure.unless(last <= service.endHandle ?? .invalid, "a service contains its attributes")
      last = service.endHandle ?? last
    }
  }

  private static func check(_ error: ProfileError, _ input: [UInt8]) {
    Failure.unless(
      !error.expected.isEmpty && !error.found.isEmpty, "an error has a text", "\(error)")
    if let position = error.position {
      let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false).count
      Failure.unless(
        (1...lines).contains(position.line) && position.column >= 1,
        "an error has a position in the text", "\(error)")
    }
    Failure.unless("\(error)".utf8.count < 4096, "messages are short", "\(error)")
  }
}
