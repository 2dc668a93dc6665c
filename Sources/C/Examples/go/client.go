// Discovers a server, reads what can be read, and prints notified values.
//
//	go build client.go && ./client unix:/tmp/strap 3
package main

/*
#cgo pkg-config: atto
#include <atto_linux.h>
#include <stdlib.h>
#include <unistd.h>
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"unsafe"
)

// The error of a result of the library; nil if it is none.
func failure(result C.int) error {
	if result >= 0 {
		return nil
	}
	return fmt.Errorf("%s", C.GoString(C.atto_strerror(result)))
}

func run(endpoint string, wanted int) error {
	text := C.CString(endpoint)
	defer C.free(unsafe.Pointer(text))
	socket, err := C.atto_linux_connect(text, C.ATTO_LOW)
	if socket < 0 {
		return err
	}
	defer C.close(socket)
	// C passes the sizes of structures by macros, which Go does not see.
	var device *C.atto
	if err := failure(C.atto_create_sized(C.sizeof_atto_row, C.sizeof_atto_event, nil, &device)); err != nil {
		return err
	}
	defer C.atto_destroy(device)
	var bearer *C.atto_bearer
	if err := failure(C.atto_bearer_create(device, 0, 0, &bearer)); err != nil {
		return err
	}

	open, values := 0, 0 // procedures that have not completed, and notified values
	begin := func(result C.int) error {
		open++
		return failure(result)
	}
	if err := begin(C.atto_exchange_mtu(bearer, 0, C.atto_linux_now(), nil)); err != nil {
		return err
	}
	if err := begin(C.atto_discover_all(bearer, C.atto_linux_now(), nil)); err != nil {
		return err
	}
	for open > 0 || values < wanted {
		var event C.atto_event
		result, err := C.atto_linux_next_sized(C.sizeof_atto_event, bearer, socket, math.MaxInt64, &event)
		if result < 0 {
			return fmt.Errorf("the connection has ended: %v", err)
		}
		var uuid [C.ATTO_UUID_TEXT]C.char
		C.atto_uuid_text(event.uuid, &uuid[0])
		switch event._type {
		case C.ATTO_EVENT_SERVICE:
			fmt.Printf("service 0x%04X-0x%04X %s\n", event.handle, event.end_handle, C.GoString(&uuid[0]))
		case C.ATTO_EVENT_CHARACTERISTIC:
			handle := event.value_handle
			fmt.Printf("  0x%04X %s\n", handle, C.GoString(&uuid[0]))
			if event.properties&C.ATTO_READ != 0 {
				if err := begin(C.atto_read_long(bearer, handle, 0, C.atto_linux_now(), nil)); err != nil {
					return err
				}
			}
			if wanted > 0 && event.properties&C.ATTO_NOTIFY != 0 {
				result := C.atto_subscribe(bearer, handle, 0, C.ATTO_NOTIFICATIONS, C.atto_linux_now(), nil)
				if err := begin(result); err != nil {
					return err
				}
			}
		case C.ATTO_EVENT_VALUE, C.ATTO_EVENT_NOTIFICATION:
			// A copy: the library keeps the value until the next call.
			value := C.GoBytes(unsafe.Pointer(event.data), C.int(event.length))
			fmt.Printf("0x%04X = % x\n", event.handle, value)
			if event._type == C.ATTO_EVENT_NOTIFICATION {
				values++
			}
		case C.ATTO_EVENT_COMPLETE:
			open--
			if event.result == C.ATTO_ERR_ATT {
				fmt.Printf("0x%04X: %s\n", event.handle, C.GoString(C.atto_att_error_name(event.att_error)))
			} else if err := failure(C.int(event.result)); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	endpoint, wanted := "", 0
	if len(os.Args) > 1 {
		endpoint = os.Args[1]
	}
	if len(os.Args) > 2 {
		wanted, _ = strconv.Atoi(os.Args[2])
	}
	if err := run(endpoint, wanted); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}
