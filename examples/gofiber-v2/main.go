// A payment service on gofiber's own idempotency middleware, with its Redis storage
// and otherwise as its documentation has it. Nothing of idemrace is in it and nothing
// is tuned: it is here as a library that nobody of us wrote.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/idempotency"
	redisstore "github.com/gofiber/storage/redis/v3"
)

// order is what a client sends; the provider is told its ref as metadata.
type order struct {
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Ref      string `json:"ref"`
}

func main() {
	app := fiber.New()
	app.Get("/health", func(c *fiber.Ctx) error { return c.SendString("ok") })
	app.Use(idempotency.New(idempotency.Config{
		Storage: redisstore.New(redisstore.Config{URL: os.Getenv("REDIS_URL")}),
	}))
	app.Post("/charges", func(c *fiber.Ctx) error {
		var o order
		if err := c.BodyParser(&o); err != nil {
			return c.Status(fiber.StatusBadRequest).JSON(fiber.Map{"error": err.Error()})
		}
		id, status, err := charge(o)
		if err != nil {
			return c.Status(status).JSON(fiber.Map{"error": err.Error()})
		}
		return c.Status(fiber.StatusCreated).JSON(fiber.Map{"id": id, "amount": o.Amount})
	})
	log.Fatal(app.Listen("127.0.0.1:" + os.Getenv("PORT")))
}

// charge asks the provider.
func charge(o order) (id string, status int, err error) {
	body, err := json.Marshal(map[string]any{"amount": o.Amount, "currency": o.Currency, "metadata": map[string]string{"ref": o.Ref}})
	if err != nil {
		return "", http.StatusInternalServerError, err
	}
	resp, err := http.Post(os.Getenv("PROVIDER_URL")+"/charges", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", http.StatusBadGateway, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", http.StatusBadGateway, err
	}
	var made struct {
		ID string `json:"id"`
	}
	if resp.StatusCode != http.StatusCreated {
		return "", resp.StatusCode, fmt.Errorf("the provider answered %d: %s", resp.StatusCode, text)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return "", http.StatusBadGateway, err
	}
	return made.ID, 0, nil
}
